// Inspects a checkpoint or a file of tensors: what is in it, and whether it is damaged, as data and as text.
import { CheckpointError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { safeLine } from "../../core/safe-text.ts";
import type { WeightsFormatName } from "../../core/saving.ts";
import { parseShardIndex } from "../formats/shards.ts";
import { formatOfFile, type TensorSummary } from "../formats/weights-formats.ts";
import type { BadCheckpoint, CheckpointInfo } from "../store.ts";
import { bytesOf, entryAt, manifestOf, nodePath, OpenFiles, verifyFile, verifyInCheckpoint } from "./files.ts";
import { checkpointsIn, NothingHere } from "./checkpoints-in.ts";
import { locate, type WeightsFile } from "./locate.ts";
import { CHECKPOINT_FILES } from "./read-weights.ts";

/** Options of `inspectCheckpoint`. */
export interface InspectOptions {
  /** False compares only the sizes of files, not their digests; default true. */
  readonly verifyDigests?: boolean;
}

/** What `inspectCheckpoint` found. */
export interface InspectedCheckpoint extends Partial<
  Pick<CheckpointInfo, "step" | "epoch" | "reason" | "metrics" | "time" | "hookline" | "base">
> {
  /** What was inspected: of a run, its newest intact checkpoint. */
  readonly path: string;
  readonly kind: "checkpoint" | WeightsFormatName | `${WeightsFormatName}-index`;
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
 * Inspects a checkpoint, a run, or a file of tensors. Damage is reported, not thrown. Apart from the comparison of
 * digests, only the headers of safetensors files are read.
 * @example console.log(describeCheckpoint(await inspectCheckpoint("runs/mnist")));
 */
export async function inspectCheckpoint(path: string, options: InspectOptions = {}): Promise<InspectedCheckpoint> {
  checkOptions("inspectCheckpoint", { path, ...options }, { path: is.name, verifyDigests: is.boolean }, ["path"]);
  const { verifyDigests = true } = options;
  const at = await locate(path);
  if (at.kind === "checkpoints") return inspectNewest(at.path, verifyDigests);
  return at.kind === "checkpoint" ? inspectFolder(at.path, verifyDigests) : inspectFile(at, verifyDigests);
}

/** Retries: a run that is training may remove checkpoints meanwhile. */
async function inspectNewest(root: string, digests: boolean, attempts = 3): Promise<InspectedCheckpoint> {
  try {
    return await inspectNewestNow(root, digests);
  } catch (error) {
    if (!(error instanceof CheckpointError) || error instanceof NothingHere || attempts === 0) throw error;
    return inspectNewest(root, digests, attempts - 1);
  }
}

/** The newest intact checkpoint, or the newest if none is intact. */
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
  const contents: [name: string, contents: Contents][] = [];
  for (const { name } of files) {
    const format = formatOfFile(name);
    if (!format) continue;
    // The header of a damaged file may still be readable. The damage itself is reported already.
    const known = damaged.has(name) ? new Problems() : problems;
    const found = await known.catch(() => contentsOf({ path: join(dir, name), ...format }));
    if (found) contents.push([name, found]);
  }
  const { step, epoch, reason, metrics, time, hookline, base } = manifest ?? {};
  const about = manifest && {
    step,
    epoch,
    reason,
    metrics,
    time,
    ...(hookline !== undefined && { hookline }),
    ...(base && { base }),
  };
  return { ...report(dir, "checkpoint", files, contents, problems), ...(about as object) };
}

async function inspectFile(at: WeightsFile, digests: boolean): Promise<InspectedCheckpoint> {
  const { path, format, isIndex } = at;
  const { basename, dirname } = nodePath();
  const problems = new Problems();
  if (digests) await problems.catch(() => verifyInCheckpoint(path));
  const found = await problems.catch(() => contentsOf(at));
  const names = new Set([basename(path), ...(found?.tensors ?? []).map(({ file }) => file)]);
  const files = (await filesIn(dirname(path))).filter(({ name }) => names.has(name));
  const kind = isIndex ? (`${format.name}-index` as const) : format.name;
  return report(path, kind, files, found ? [[basename(path), found]] : [], problems);
}

function report(
  path: string,
  kind: InspectedCheckpoint["kind"],
  files: InspectedCheckpoint["files"],
  contents: readonly (readonly [name: string, contents: Contents])[],
  { list }: Problems,
): InspectedCheckpoint {
  const model = contents.filter(
    ([name]) => kind !== "checkpoint" || CHECKPOINT_FILES.some((file) => file.name === name),
  );
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

/** Collects errors about files. */
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

/** The tensors of a file, or of all files of an index. */
interface Contents {
  readonly tensors: readonly TensorSummary[];
  readonly parameters: number;
}

async function contentsOf({ path, format, isIndex }: Omit<WeightsFile, "kind">): Promise<Contents> {
  const { basename, dirname, join } = nodePath();
  if (isIndex) {
    const { weightMap } = parseShardIndex(await bytesOf(path), path);
    const shards = [...new Set(weightMap.values())].map((name) => join(dirname(path), name));
    const found = await Promise.all(shards.map((shard) => contentsOf({ path: shard, format, isIndex: false })));
    return {
      tensors: found.flatMap(({ tensors }) => tensors),
      parameters: found.reduce((sum, { parameters }) => sum + parameters, 0),
    };
  }
  const files = new OpenFiles();
  try {
    const { tensors, parameters } = await format.inspect(await files.open(path), path);
    return { tensors: tensors.map((tensor) => ({ file: basename(path), ...tensor })), parameters };
  } finally {
    await files.close();
  }
}

/** A model may have thousands of tensors; this many of each file are listed. */
const MOST_ROWS = 100;

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

function showBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let [value, unit] = [bytes / 1000, 1];
  // 999.5 would be shown as 1000.
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value.toPrecision(3)} ${UNITS[unit]}`;
}

/** A name from a file, cut to a line's length. */
const short = (name: string): string => {
  const safe = safeLine(name);
  return safe.length > 80 ? `${safe.slice(0, 79)}…` : safe;
};

const showCount = (count: number): string => count.toLocaleString("en-US");

/** Five digits of a metric. */
const brief = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : `${value}`);

type Row = readonly string[];

/** Aligns columns: to the right if the heading begins with a space, else to the left. */
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
    const by = info.hookline === undefined ? "" : `, by hookline ${info.hookline}`;
    lines.push(`step ${info.step}, epoch ${info.epoch! + 1}, saved for ${info.reason}${when}${by}`);
  }
  if (info.base) lines.push(`base: ${info.base.path}, SHA-256 ${info.base.digest}`);
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
