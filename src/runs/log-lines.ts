// The lines of metrics.jsonl and events.jsonl, as docs/run-directory.md publishes them.
import { HooklineError } from "../core/errors.ts";
import type { Json } from "../core/options.ts";
import type { Media } from "../core/media.ts";
import { toJson } from "./exact-json.ts";
import { FORMATS } from "./layout.ts";
import type { LastRecord, LogRecord, RunEvent, RunFacts } from "./types.ts";

/** The keys that every record has. */
export const FIELDS = ["step", "epoch", "time", "elapsed"] as const;
const RESERVED: ReadonlySet<string> = new Set([...FIELDS, "schema"]);

/** The key of a metric: `time` is the record's own, so a metric of that name is `time_`. */
export const keyOf = (name: string): string => (RESERVED.has(name) ? `${name}_` : name);

/** Longer texts are truncated, so that a line can be read. */
const LONGEST_TEXT = 1_000_000;

const numberText = (value: number): string => (Number.isFinite(value) ? `${value}` : `"${value}"`);

const keys = new Map<string, string>();
/** Limits the cache. Names are few, and the same at every step. */
const MOST_KEYS = 10_000;

function keyText(name: string): string {
  let text = keys.get(name);
  if (text === undefined) {
    text = `,${JSON.stringify(keyOf(name))}:`;
    if (keys.size < MOST_KEYS) keys.set(name, text);
  }
  return text;
}

type LogKind = "metrics" | "events";

/** The first line of a log. */
export function headerLine(kind: LogKind, { id, startedAt }: Pick<RunFacts, "id" | "startedAt">): string {
  const { schema, version } = FORMATS[kind];
  return `${toJson({ schema, version, run: id, startedAt })}\n`;
}

/** How the header of metrics.jsonl begins: a kill may leave only a part of it. */
export const METRICS_HEADER_START = `{"schema":"${FORMATS.metrics.schema}"`;

/** The run id in a header line; undefined for other lines. */
export function runOfHeader(line: string): string | undefined {
  if (!line.startsWith(METRICS_HEADER_START)) return undefined;
  try {
    const { run } = JSON.parse(line) as { run?: unknown };
    return typeof run === "string" ? run : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a parsed line is the header of metrics.jsonl. Throws on one of a newer version. */
export function isHeader(path: string, { schema, version }: Readonly<Record<string, unknown>>): boolean {
  const known = FORMATS.metrics;
  if (schema !== known.schema || typeof version !== "number") return false;
  if (version <= known.version) return true;
  throw new HooklineError(
    `${path}: it has version ${version}, and this hookline reads up to ${known.version}. Update hookline.`,
  );
}

/** The step of a record's line; undefined for any other line. */
export function stepOfLine(line: string): number | undefined {
  const found = /^\{"step":(\d+)[,}]/.exec(line);
  return found && line.endsWith("}") ? Number(found[1]) : undefined;
}

/** Rounds seconds to microseconds: further digits are noise, and take a dozen characters. */
export const microseconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

/** Whether a metric repeats a field of the record, such as `epoch`. */
export const isRepeated = (record: LogRecord, name: string): boolean =>
  RESERVED.has(name) && record.scalars[name] === record[name as (typeof FIELDS)[number]];

/** Metrics that are positions on an axis: what the run has trained on so far. */
export const SAMPLES = "data/samples";
export const TOKENS = "data/tokens";

/** @param images paths of the images among the record's media, by name */
export function recordLine(record: LogRecord, images: Readonly<Record<string, string>> = {}): string {
  const { step, epoch, time, elapsed, samples, tokens = 0, scalars, media } = record;
  let line = `{"step":${step},"epoch":${epoch},"time":${time},"elapsed":${numberText(microseconds(elapsed))}`;
  if (samples !== undefined && !Object.hasOwn(scalars, SAMPLES)) line += keyText(SAMPLES) + numberText(samples);
  if (tokens > 0 && !Object.hasOwn(scalars, TOKENS)) line += keyText(TOKENS) + numberText(tokens);
  for (const name of Object.keys(scalars)) {
    if (!isRepeated(record, name)) line += keyText(name) + numberText(scalars[name]!);
  }
  for (const name of Object.keys(media)) {
    const shown = mediaJson(media[name]!, images[name]);
    if (shown !== undefined) line += keyText(name) + toJson(shown);
  }
  return `${line}}\n`;
}

/** Undefined for an image that was not written to a file. */
function mediaJson(media: Media, path: string | undefined): Json | undefined {
  if (media.kind === "histogram") return { edges: media.edges, counts: media.counts };
  if (media.kind === "image") return path === undefined ? path : { image: path, shape: [media.height, media.width] };
  const isLong = media.text.length > LONGEST_TEXT;
  return { text: isLong ? `${media.text.slice(0, LONGEST_TEXT)}…` : media.text };
}

export function eventLine({ type, step, time, details }: RunEvent): string {
  return `${toJson({ type, step, time, details })}\n`;
}

/** The last record that a resumed run keeps. */
export const lastRecordOf = ({ lastRecord, resumedAt = 0 }: RunFacts): LastRecord =>
  lastRecord ?? { step: resumedAt, count: Infinity };
