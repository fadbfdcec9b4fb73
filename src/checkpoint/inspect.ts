// What is in a checkpoint or a file of tensors, and whether it can be trusted: plain data for people and tools.
import { CheckpointError } from "../core/errors.ts";
import { checkOptions, is } from "../core/options.ts";
import { contentsOf, type FileContents, type TensorSummary } from "./inspect-tensors.ts";
import { entryAt, nodePath } from "./read-weights-disk.ts";
import { manifestOf, verifyFile, verifyInCheckpoint } from "./read-weights-manifest.ts";
import { checkpointsIn, kindOfFile, NothingHere, placeOf, type FileKind } from "./read-weights-place.ts";
import type { BadCheckpoint, CheckpointInfo } from "./store.ts";

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
