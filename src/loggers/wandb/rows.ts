// Records in W&B's own JSON: lines of history and of system metrics, the summary, and image files.
import type { Json } from "../../core/options.ts";
import type { HistogramMedia, TextMedia } from "../../core/media.ts";
import type { RunEnd } from "../../runs/types.ts";
import type { ImageLine, LoggedLine, Scalar } from "../remote/record-lines.ts";
import { builtin } from "../../platform/builtin.ts";

/** Names, and values as JSON text. */
export type Entries = readonly (readonly [name: string, json: string])[];

const SYSTEM = "system/";
/** W&B does not draw more than this. */
const MOST_BINS = 512;

/** W&B writes NaN and infinities without quotes. */
const scalarJson = (value: Scalar): string => String(value);

export interface WandbRow {
  /** With `_step`, `_runtime` and `_timestamp`; empty when nothing but system metrics was logged. */
  readonly history: Entries;
  /** Without the `system/` before their names; empty when there were none. */
  readonly system: Entries;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly runtime: number;
}

interface RowOptions {
  /** Whether a metric is wanted. */
  readonly takes?: (name: string) => boolean;
  /** The JSON of an image; undefined for one that is left out. */
  readonly image: (name: string) => Json | undefined;
}

export function rowOf(
  { scalars, media = {}, step, time, elapsed }: LoggedLine,
  { takes = () => true, image }: RowOptions,
): WandbRow {
  const all = Object.entries(scalars).filter(([name]) => takes(name));
  const system = all.filter(([name]) => name.startsWith(SYSTEM));
  const shown = Object.entries(media)
    .filter(([name]) => takes(name))
    .map(([name, value]) => [name, isImage(value) ? image(name) : mediaJson(value)] as const)
    .filter(([, json]) => json !== undefined);
  const values = [
    ...all.filter(([name]) => !name.startsWith(SYSTEM)).map(([name, value]) => [name, scalarJson(value)] as const),
    ...shown.map(([name, json]) => [name, JSON.stringify(json)] as const),
  ];
  const timestamp = time / 1000;
  const facts = [
    ["_step", String(step)],
    ["_runtime", String(elapsed)],
    ["_timestamp", String(timestamp)],
  ] as const;
  return {
    history: values.length === 0 ? [] : [...values, ...facts],
    system: system.map(([name, value]) => [name.slice(SYSTEM.length).replaceAll("/", "."), scalarJson(value)]),
    timestamp,
    runtime: elapsed,
  };
}

const isImage = (media: unknown): media is ImageLine => (media as ImageLine).kind === "image";

function mediaJson(media: Json): Json {
  const { kind, ...rest } = media as unknown as HistogramMedia | TextMedia;
  if (kind === "text") return (rest as TextMedia).text;
  const { edges, counts } = rest as HistogramMedia;
  return { _type: "histogram", ...coarser(edges, counts) };
}

/** Merges neighbouring bins until there are few enough. */
function coarser(edges: readonly number[], counts: readonly number[]): { bins: number[]; values: number[] } {
  const by = Math.ceil(counts.length / MOST_BINS);
  const values = Array.from({ length: Math.ceil(counts.length / by) }, (_, i) =>
    counts.slice(i * by, (i + 1) * by).reduce((sum, count) => sum + count, 0),
  );
  const bins = [...values.map((_, i) => edges[i * by]!), edges.at(-1)!];
  return { bins, values };
}

export const objectJson = (entries: Entries): string =>
  `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;

/** A line of `wandb-events.jsonl`. */
export const systemJson = ({ system, timestamp, runtime }: WandbRow): string =>
  objectJson([
    ["_wandb", "true"],
    ["_timestamp", String(timestamp)],
    ["_runtime", String(runtime)],
    ...system.map(([name, json]) => [`system.${name}`, json] as const),
  ]);

/** 255 means killed to W&B. */
export const exitCodeOf = (status: RunEnd["status"]): number =>
  ({ completed: 0, stopped: 0, interrupted: 255, error: 1 })[status];

/** Letters, digits, `-` and `_`: the id is part of addresses and file names. */
export const safeId = (id: string): string => id.replace(/[^\w-]/g, "-").slice(0, 128) || "run";

export interface ImageFile {
  /** Within the run's files. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** The entry in the history. */
  readonly json: Json;
}

/** The images of a line, by the names they were logged under. */
export function imagesOf({ media = {}, step }: LoggedLine, takes = (_name: string) => true): Map<string, ImageFile> {
  const found = Object.entries(media as Readonly<Record<string, unknown>>).flatMap(([name, item]) =>
    isImage(item) && takes(name) ? [[name, imageFile(name, step, item)] as const] : [],
  );
  return new Map(found);
}

function imageFile(name: string, step: number, { width, height, png }: ImageLine): ImageFile {
  const bytes = builtin("wandb", "node:buffer").Buffer.from(png, "base64");
  const sha256 = builtin("wandb", "node:crypto").createHash("sha256").update(bytes).digest("hex");
  // The user chooses names: none may lead out of the folder.
  const safe = name.replace(/[^\w.-]+/g, "_").slice(0, 100);
  const path = `media/images/${safe}_${step}_${sha256.slice(0, 20)}.png`;
  const json = { _type: "image-file", path, sha256, size: bytes.byteLength, format: "png", width, height };
  return { path, bytes, json };
}
