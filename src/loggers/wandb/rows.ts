import type { Json } from "../../core/options.ts";
import type { HistogramMedia, TextMedia } from "../../core/media.ts";
import type { RunEnd } from "../../runs/types.ts";
import type { ImageLine, LoggedLine, Scalar } from "../remote/record-lines.ts";
import { builtin } from "../../platform/builtin.ts";

// What was logged, as W&B writes it: JSON of its own kind, lines of history and of system metrics, and the summary.

/** Ready to be put into JSON: name and text of its value. */
export type Entries = readonly (readonly [name: string, json: string])[];

const SYSTEM = "system/";
/** More than this it does not draw. */
const MOST_BINS = 512;

/** W&B takes the numbers that JSON lacks by their bare names. */
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
  /** Of each metric, whether it is wanted. */
  readonly takes?: (name: string) => boolean;
  /** What is written of an image; undefined for one that is left out. */
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

/** Neighbours go together until there are few enough. */
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

/** 255 is what W&B takes for killed. */
export const exitCodeOf = (status: RunEnd["status"]): number =>
  ({ completed: 0, stopped: 0, interrupted: 255, error: 1 })[status];

/** Letters, digits, `-` and `_`: it is part of addresses and file names. */
export const safeId = (id: string): string => id.replace(/[^\w-]/g, "-").slice(0, 128) || "run";

// Images as W&B keeps them: files of the run, to which a line of history points.

type Crypto = ReturnType<typeof process.getBuiltinModule<"node:crypto">>;
type Buffers = ReturnType<typeof process.getBuiltinModule<"node:buffer">>;

export interface ImageFile {
  /** Under the run's files. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** What history says of it. */
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
  const bytes = builtin<Buffers>("wandb", "node:buffer").Buffer.from(png, "base64");
  const sha256 = builtin<Crypto>("wandb", "node:crypto").createHash("sha256").update(bytes).digest("hex");
  // Names are the user's: one of them must not lead out of the folder.
  const safe = name.replace(/[^\w.-]+/g, "_").slice(0, 100);
  const path = `media/images/${safe}_${step}_${sha256.slice(0, 20)}.png`;
  const json = { _type: "image-file", path, sha256, size: bytes.byteLength, format: "png", width, height };
  return { path, bytes, json };
}
