// What is in a checkpoint or a file of tensors, and whether it can be trusted: plain data for people and tools.
import { CheckpointError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { OpenFiles, bytesOf, entryAt, manifestOf, nodePath, verifyFile, verifyInCheckpoint } from "./files.ts";
import { type FileKind, NothingHere, checkpointsIn, kindOfFile, placeOf } from "./read-weights.ts";
import type { BadCheckpoint, CheckpointInfo } from "../store.ts";
import { SafetensorsFile, parseShardIndex } from "../formats/safetensors-file.ts";
import { decodePt } from "../formats/torch/pt.ts";
import { type FileDType, isFileTensor } from "../formats/tensor.ts";
import { weightsIn } from "../formats/torch/torch-checkpoint.ts";
import type { PtValue } from "../formats/torch/pickle-writer.ts";
import { safeLine } from "../../core/safe-text.ts";

/** Options of `inspectCheckpoint`. */
export interface InspectOptions {
  /** False trusts files of the right size without reading them through; default true. */
  readonly verifyDigests?: boolean;
}

/** What `inspectCheckpoint` found. */
export interface InspectedCheckpoint extends Partial<
  Pick<CheckpointInfo, "step" | "epoch" | "reason" | "metrics" | "time">
> {
  /** What was looked at: of a run, its newest intact checkpoint. */
  readonly path: string;
  readonly kind: "checkpoint" | FileKind;
  /** Whether there are no problems. */
  readonly valid: boolean;
  /** Each begins with the file that is to blame. */
  readonly problems: readonly string[];
  /** Of a run: newer checkpoints that are damaged. */
  readonly skipped: readonly BadCheckpoint[];
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
  readonly tensors: readonly TensorSummary[];
  /** Numbers in the model's tensors, its buffers included. */
  readonly parameters: number;
  /** Of all files. */
  readonly bytes: number;
}

/**
 * Looks at a checkpoint, a run, or a file of tensors. Damage is reported, not thrown. Of safetensors only headers are
 * read, and everything once more for the digests.
 * @example console.log(describeCheckpoint(await inspectCheckpoint("runs/mnist")));
 */
export async function inspectCheckpoint(path: string, options: InspectOptions = {}): Promise<InspectedCheckpoint> {
  checkOptions("inspectCheckpoint", { path, ...options }, { path: is.name, verifyDigests: is.boolean }, ["path"]);
  const { verifyDigests = true } = options;
  const place = await placeOf(path);
  if (place.kind === "checkpoints") return inspectNewest(place.path, verifyDigests);
  return place.kind === "checkpoint"
    ? inspectFolder(place.path, verifyDigests)
    : inspectFile(place.kind, place.path, verifyDigests);
}

/** A run that is going on removes checkpoints while one looks: then it is looked at again. */
async function inspectNewest(root: string, digests: boolean, attempts = 3): Promise<InspectedCheckpoint> {
  try {
    return await inspectNewestNow(root, digests);
  } catch (error) {
    if (!(error instanceof CheckpointError) || error instanceof NothingHere || attempts === 0) throw error;
    return inspectNewest(root, digests, attempts - 1);
  }
}

/** The newest that is intact; if none is, the newest. */
async function inspectNewestNow(root: string, digests: boolean): Promise<InspectedCheckpoint> {
  const problems = new Problems();
  const found = await problems.catch(() => checkpointsIn(root));
  if (found === undefined) return report(root, "checkpoint", [], [], problems);
  const skipped = [...found.skipped];
  let newest: InspectedCheckpoint | undefined;
  for (const { dir, name } of found.checkpoints) {
    const inspected = await inspectFolder(dir!, digests);
    if (inspected.valid) return { ...inspected, skipped };
    newest ??= inspected;
    const [file, reason] = inspected.problems[0]!.split(/: (.*)/s) as [string, string];
    skipped.push({ name, file, reason });
  }
  return newest!;
}

async function inspectFolder(dir: string, digests: boolean): Promise<InspectedCheckpoint> {
  const { join } = nodePath();
  const problems = new Problems();
  const manifest = await problems.catch(() => manifestOf(dir));
  const damaged = new Set<string>();
  for (const [name, entry] of Object.entries(manifest?.files ?? {})) {
    const before = problems.list.length;
    await problems.catch(() => verifyFile(join(dir, name), entry, digests));
    if (problems.list.length > before) damaged.add(name);
  }
  const files = await filesIn(dir);
  const contents: [name: string, contents: FileContents][] = [];
  for (const { name } of files) {
    const kind = kindOfFile(name);
    if (kind === undefined) continue;
    // A damaged file may still have a sound header that says what was in it; that it is damaged has been said.
    const known = damaged.has(name) ? new Problems() : problems;
    const found = await known.catch(() => contentsOf(kind, join(dir, name)));
    if (found) contents.push([name, found]);
  }
  const { step, epoch, reason, metrics, time } = manifest ?? {};
  const about = manifest && { step, epoch, reason, metrics, time };
  return { ...report(dir, "checkpoint", files, contents, problems), ...(about as object) };
}

async function inspectFile(kind: FileKind, path: string, digests: boolean): Promise<InspectedCheckpoint> {
  const { basename, dirname } = nodePath();
  const problems = new Problems();
  if (digests) await problems.catch(() => verifyInCheckpoint(path));
  const found = await problems.catch(() => contentsOf(kind, path));
  const names = new Set([basename(path), ...(found?.tensors ?? []).map(({ file }) => file)]);
  const files = (await filesIn(dirname(path))).filter(({ name }) => names.has(name));
  return report(path, kind, files, found ? [[basename(path), found]] : [], problems);
}

/** The files that have a checkpoint's own weights. */
const MODEL = ["model.safetensors", "checkpoint.pt"];

function report(
  path: string,
  kind: InspectedCheckpoint["kind"],
  files: InspectedCheckpoint["files"],
  contents: readonly (readonly [name: string, contents: FileContents])[],
  { list }: Problems,
): InspectedCheckpoint {
  const model = contents.filter(([name]) => kind !== "checkpoint" || MODEL.includes(name));
  return {
    path,
    kind,
    valid: list.length === 0,
    problems: list,
    skipped: [],
    files,
    tensors: contents.flatMap(([, { tensors }]) => tensors),
    parameters: model.reduce((sum, [, { parameters }]) => sum + parameters, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

async function filesIn(dir: string): Promise<{ name: string; bytes: number }[]> {
  const entry = await entryAt(dir);
  const names = entry.kind === "directory" ? entry.names : [];
  const found = names.map(async (name) => {
    const file = await entryAt(nodePath().join(dir, name)).catch(() => undefined);
    return file?.kind === "file" ? [{ name, bytes: file.bytes }] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Turns what is wrong with files into findings. */
class Problems {
  readonly list: string[] = [];

  async catch<T>(body: () => Promise<T>): Promise<T | undefined> {
    try {
      return await body();
    } catch (error) {
      if (!(error instanceof CheckpointError) || error instanceof NothingHere) throw error;
      this.list.push(`${error.file}: ${error.reason}`);
      return undefined;
    }
  }
}

// The tensors of a file without their numbers: from headers where the format has them.

/** A tensor that `inspectCheckpoint` found. */
export interface TensorSummary {
  readonly file: string;
  /** In a .pt file, the way to it: `optimizer.state.0.exp_avg`. */
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

interface FileContents {
  readonly tensors: readonly TensorSummary[];
  /** Numbers in the model's tensors. */
  readonly parameters: number;
}

const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const countAll = (tensors: readonly { readonly shape: readonly number[] }[]): number =>
  tensors.reduce((sum, { shape }) => sum + elements(shape), 0);

/** What is in a file, or in all the files of an index. */
async function contentsOf(kind: FileKind, path: string): Promise<FileContents> {
  const { basename, dirname, join } = nodePath();
  if (kind === "safetensors") {
    const tensors = await headerOf(path);
    return { tensors, parameters: countAll(tensors) };
  }
  if (kind === "pt") {
    const value = decodePt(await bytesOf(path), path);
    const tensors: TensorSummary[] = [];
    collect(value, "", basename(path), tensors);
    return { tensors, parameters: countAll(modelIn(value)) };
  }
  const { weightMap } = parseShardIndex(await bytesOf(path), path);
  const shardKind = kind === "pt-index" ? "pt" : "safetensors";
  const shards = [...new Set(weightMap.values())].map((name) => contentsOf(shardKind, join(dirname(path), name)));
  const found = await Promise.all(shards);
  return {
    tensors: found.flatMap(({ tensors }) => tensors),
    parameters: found.reduce((sum, { parameters }) => sum + parameters, 0),
  };
}

async function headerOf(path: string): Promise<TensorSummary[]> {
  const files = new OpenFiles();
  try {
    const opened = await SafetensorsFile.open(await files.open(path), path);
    const file = nodePath().basename(path);
    return opened.names.map((name) => {
      const { dtype, shape, begin, end } = opened.info(name);
      return { file, name, dtype, shape, bytes: end - begin };
    });
  } finally {
    await files.close();
  }
}

function collect(value: PtValue, name: string, file: string, into: TensorSummary[]): void {
  if (isFileTensor(value)) {
    const { dtype, shape, bytes } = value;
    into.push({ file, name, dtype, shape, bytes: bytes.length });
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    const parts = value instanceof Map ? value : Object.entries(value as Record<string, PtValue>);
    for (const [key, part] of parts) collect(part, name === "" ? String(key) : `${name}.${key}`, file, into);
  }
}

function modelIn(value: PtValue): readonly { readonly shape: readonly number[] }[] {
  try {
    return Object.values(weightsIn(value, "a file"));
  } catch {
    // Tensors of something else than a model: there is nothing to count.
    return [];
  }
}

// An inspected checkpoint as text for people: what it is, what is wrong with it, and aligned tables of its contents.

/** A model may have thousands of tensors: each file's first ones say how they look. */
const MOST_ROWS = 100;

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

function showBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let [value, unit] = [bytes / 1000, 1];
  // What would round to 1000 is one of the next.
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value.toPrecision(3)} ${UNITS[unit]}`;
}

/** A name from a file might fill a terminal. */
const short = (name: string): string => {
  const safe = safeLine(name);
  return safe.length > 80 ? `${safe.slice(0, 79)}…` : safe;
};

const showCount = (count: number): string => count.toLocaleString("en-US");

/** The manifest has all digits; people want a few. */
const brief = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : `${value}`);

type Row = readonly string[];

/** Columns to the left, but those whose heading begins with a space to the right. */
function table(head: Row, rows: readonly Row[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const cell = (text: string, i: number): string =>
    head[i]!.startsWith(" ") ? text.padStart(widths[i]!) : text.padEnd(widths[i]!);
  return all.map((row) => `  ${row.map(cell).join("  ")}`.trimEnd());
}

/** What `inspectCheckpoint` found, as text with aligned columns. */
export function describeCheckpoint(info: InspectedCheckpoint): string {
  const { path, kind, valid, problems, skipped, files, tensors, parameters, bytes } = info;
  const lines = [`${path}: ${kind}, ${valid ? "valid" : "DAMAGED"}`];
  if (info.step !== undefined) {
    // People count epochs from 1.
    const when = info.time === undefined ? "" : `, ${new Date(info.time).toISOString()}`;
    lines.push(`step ${info.step}, epoch ${info.epoch! + 1}, saved for ${info.reason}${when}`);
  }
  const metrics = Object.entries(info.metrics ?? {}).map(([name, value]) => `${name} ${brief(value)}`);
  if (metrics.length > 0) lines.push(`metrics: ${metrics.join(", ")}`);
  lines.push(
    `${showCount(parameters)} parameters, ${showBytes(bytes)} in ${files.length === 1 ? "1 file" : `${files.length} files`}`,
  );
  for (const problem of problems) lines.push(`problem: ${problem}`);
  for (const { name, file, reason } of skipped) lines.push(`newer, but damaged: ${name} (${file}: ${reason})`);
  if (files.length > 0) {
    const rows = files.map(({ name, bytes }) => [name, showBytes(bytes)]);
    lines.push("", ...table(["file", " size"], rows));
  }
  for (const file of new Set(tensors.map((tensor) => tensor.file))) {
    const own = tensors.filter((tensor) => tensor.file === file);
    const rows = own
      .slice(0, MOST_ROWS)
      .map(({ name, dtype, shape, bytes }) => [short(name), dtype, `[${shape.join(", ")}]`, showBytes(bytes)]);
    lines.push("", ...table([file, "type", "shape", " size"], rows));
    const rest = own.slice(MOST_ROWS);
    const restBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
    if (rest.length > 0) lines.push(`  … and ${showCount(rest.length)} more, ${showBytes(restBytes)}`);
  }
  return lines.map(safeLine).join("\n");
}
