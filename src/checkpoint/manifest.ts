// manifest.json: written last, so that its presence means the checkpoint is complete. Its sizes and digests show whether the
// files are intact.
import { isSafeName } from "../core/safe-name.ts";
import type { CheckpointInfo, FileEntry, SavedCheckpoint } from "./store.ts";
import { CheckpointError } from "../core/errors.ts";
import { numberFromJson, numberToJson } from "../runs/exact-json.ts";

/** The file that makes a directory a checkpoint. It is written last, with size and digest of all others. */
export const MANIFEST = "manifest.json";
/** Raised when older versions would misread what is written. */
const SCHEMA = 1;
/** The end of the text: without it, the file is truncated. */
export const MANIFEST_END = "}\n";
/** No manifest comes near this size: a larger file is something else. */
export const LARGEST_MANIFEST = 16 << 20;

export interface Manifest extends CheckpointInfo {
  readonly name: string;
  readonly files: Readonly<Record<string, FileEntry>>;
}

/** The result of parsing a manifest. */
export type ManifestText =
  | { readonly kind: "valid"; readonly manifest: Manifest; readonly body: string; readonly digest: string }
  | { readonly kind: "newer"; readonly schema: number; readonly step: number }
  | { readonly kind: "bad"; readonly reason: string };

/** The text whose digest the manifest has, so that even a flipped bit in a metric is noticed. */
export function manifestBody(manifest: Manifest): string {
  const { metrics, files } = manifest;
  const numbers = Object.entries(metrics).map(([key, value]) => [key, numberToJson(value)] as const);
  return JSON.stringify({ schema: SCHEMA, ...plainFields(manifest), metrics: Object.fromEntries(numbers), files });
}

/** The file's text: the body, indented, and its digest. */
export function sealManifest(body: string, digest: string): string {
  return `${JSON.stringify({ ...(JSON.parse(body) as object), digest }, null, 2)}\n`;
}

/** Parses a manifest. The caller compares `digest` with that of `body`, since hashing is synchronous only in Node. */
export function parseManifest(text: string): ManifestText {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { kind: "bad", reason: "it is not valid JSON" };
  }
  if (!isRecord(parsed)) return { kind: "bad", reason: "it is not a JSON object" };
  const { digest, ...fields } = parsed;
  const { schema, step } = fields;
  if (isCount(schema) && schema > SCHEMA) return { kind: "newer", schema, step: isCount(step) ? step : Infinity };
  if (schema !== SCHEMA) return { kind: "bad", reason: `its schema version is not one of 1 to ${SCHEMA}` };
  const manifest = readFields(fields);
  if (typeof manifest === "string") return { kind: "bad", reason: `its \`${manifest}\` is missing or wrong` };
  if (typeof digest !== "string") return { kind: "bad", reason: "its `digest` is missing or wrong" };
  return { kind: "valid", manifest, body: JSON.stringify(fields), digest };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isText = (value: unknown): boolean => typeof value === "string";
const orNone =
  (test: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || test(value);

/** The fields that are written as they are, in the order of the text, and what each must be. */
const PLAIN: Readonly<Record<Exclude<keyof Manifest, "metrics" | "files">, (value: unknown) => boolean>> = {
  name: isSafeName,
  step: isCount,
  epoch: isCount,
  reason: isText,
  time: (value) => typeof value === "number",
  serial: orNone(isCount),
  runId: isText,
  parent: orNone(isText),
  by: orNone(isTexts),
  hookline: orNone(isText),
  base: orNone((value) => isRecord(value) && isText(value.path) && isText(value.digest)),
};
const PLAIN_NAMES = Object.keys(PLAIN) as (keyof typeof PLAIN)[];

const plainFields = (from: { readonly [name in keyof typeof PLAIN]?: unknown }): object =>
  Object.fromEntries(PLAIN_NAMES.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));

/** The manifest, or the name of the first field that is wrong. */
function readFields(fields: Record<string, unknown>): Manifest | string {
  const wrong = PLAIN_NAMES.find((name) => !PLAIN[name](fields[name]));
  if (wrong !== undefined) return wrong;
  const metrics = readRecord(fields.metrics, (_, value) => numberFromJson(value));
  if (!metrics) return "metrics";
  const files = readRecord(fields.files, readEntry);
  return files ? ({ ...plainFields(fields), metrics, files } as Manifest) : "files";
}

function readEntry(name: string, value: unknown): FileEntry | undefined {
  if (!isSafeName(name) || name === MANIFEST || !isRecord(value)) return undefined;
  const { bytes, sha256 } = value;
  return isCount(bytes) && typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256) ? { bytes, sha256 } : undefined;
}

function readRecord<T>(
  value: unknown,
  each: (key: string, value: unknown) => T | undefined,
): Record<string, T> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).map(([key, item]) => [key, each(key, item)] as const);
  return entries.every((entry): entry is [string, T] => entry[1] !== undefined)
    ? Object.fromEntries(entries)
    : undefined;
}

/** The manifest of a checkpoint in any store, with the same text as in a directory: for copying it to a disk. */
export async function manifestText(saved: SavedCheckpoint): Promise<string> {
  const body = manifestBody(saved);
  return sealManifest(body, await digestOf(body));
}

/** SHA-256 without node:crypto. */
export async function digestOf(data: Uint8Array | string): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const { subtle } = globalThis.crypto as { subtle?: SubtleCrypto };
  if (!subtle) {
    throw new CheckpointError("crypto.subtle", "it is missing", "Serve the page over https or from localhost.");
  }
  // Browsers refuse shared memory.
  const own = bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice();
  const digest = new Uint8Array(await subtle.digest("SHA-256", own));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
