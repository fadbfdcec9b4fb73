// Reads weights from a file, a checkpoint or a run, and finds out what a path stands for.
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";
import { checkShard, parseShardIndex } from "../formats/shards.ts";
import { badFile, type FileTensors } from "../formats/tensor.ts";
import { toHostArrays } from "../formats/tensor-values.ts";
import {
  averageIn,
  type FileWeights,
  FORMATS,
  formatOfFile,
  INDEX_ENDING,
  type WeightsFormat,
} from "../formats/weights-formats.ts";
import { MANIFEST } from "../manifest.ts";
import { type BadCheckpoint, lastRunFirst, type SavedCheckpoint } from "../store.ts";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { bytesOf, entryAt, manifestOf, nodePath, verifyFile, verifyInCheckpoint } from "./files.ts";

/** Options of `readWeights`. */
export interface ReadWeightsOptions {
  /**
   * If a checkpoint has averaged weights (`ema`, `swa`), those are read. False reads the model's own; a name chooses one
   * of several averages; true makes their absence an error.
   */
  readonly averaged?: boolean | string;
  /** The part of a .pt file that has the weights, if it has several. */
  readonly key?: string;
}

export const READ_CHECKS = { averaged: is.or(is.boolean, is.name), key: is.name };

export interface Weights extends FileWeights {
  /** The file that they are from, for errors. */
  readonly file: string;
}

/**
 * The weights in a file (`.safetensors`, its sharded index, `.pt`, `.pth`, `.bin`, `.ckpt`), in a checkpoint, or in the
 * newest intact checkpoint of a run. Nothing in a file is ever run.
 * @example await trainer.loadStateDict(await readWeights("pytorch_model.bin"));
 */
export async function readWeights(path: string, options: ReadWeightsOptions = {}): Promise<HostTensors> {
  checkOptions("readWeights", { path, ...options }, { path: is.name, ...READ_CHECKS }, ["path"]);
  const { tensors, file } = await weightsAt(path, options);
  return toHostArrays(tensors, file);
}

/** The same as files keep them. */
export async function weightsAt(path: string, options: ReadWeightsOptions): Promise<Weights> {
  const at = await locate(path);
  if (at.kind === "checkpoint") return ofCheckpoint(await manifestOf(at.path), options);
  if (at.kind === "checkpoints") return ofNewest(at.path, options);
  if (options.averaged !== undefined && options.averaged !== false) {
    throw new CheckpointError(at.path, "only checkpoints have averaged weights beside others", "Leave out `averaged`.");
  }
  await verifyInCheckpoint(at.path);
  return ofFile(at, options.key);
}

/** Digests are compared only when a file is read. If it is damaged, the checkpoint before it is used. */
async function ofNewest(root: string, options: ReadWeightsOptions): Promise<Weights> {
  const { checkpoints, skipped } = await checkpointsIn(root);
  const damaged: BadCheckpoint[] = [...skipped];
  let first: unknown;
  for (const checkpoint of checkpoints) {
    const file = weightsFile(checkpoint, options.averaged);
    try {
      const weights = await readVerified(checkpoint, file, options.key);
      warnSkipped(checkpoint.name, damaged);
      return weights;
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
      first ??= error;
      damaged.push({ name: checkpoint.name, file: error.file, reason: error.reason });
    }
  }
  throw first;
}

const ofCheckpoint = (checkpoint: SavedCheckpoint, options: ReadWeightsOptions): Promise<Weights> =>
  readVerified(checkpoint, weightsFile(checkpoint, options.averaged), options.key);

async function readVerified({ dir, files }: SavedCheckpoint, name: string, key?: string): Promise<Weights> {
  const path = nodePath().join(dir!, name);
  await verifyFile(path, files[name]!, true);
  const own = CHECKPOINT_FILES.find((file) => file.name === name);
  return ofFile({ path, ...formatOfFile(name)! }, key ?? own?.key);
}

/** The files that have a checkpoint's own weights. */
export const CHECKPOINT_FILES = Object.values(FORMATS).map(({ checkpointFile }) => checkpointFile);

/** Which of a checkpoint's files has the wanted weights. */
function weightsFile({ dir, name, files }: SavedCheckpoint, averaged: boolean | string | undefined): string {
  const where = dir ?? name;
  const names = Object.keys(files);
  const averages = new Map(names.flatMap((file) => [[averageIn(file), file] as const]));
  averages.delete(undefined);
  const list = [...averages.keys()].join(", ");
  const [first] = averages.values();
  if (typeof averaged === "string") {
    const found = averages.get(averaged);
    if (found !== undefined) return found;
    throw new CheckpointError(where, `it has no averaged weights named \`${averaged}\``, `It has: ${list || "none"}.`);
  }
  if (averaged === true && first === undefined)
    throw new CheckpointError(where, "it has no averaged weights", "Leave out `averaged` to take the model's own.");
  if (averaged !== false && averages.size > 1) {
    const reason = `it has several averaged weights (${list})`;
    throw new CheckpointError(
      where,
      reason,
      `Choose: { averaged: "${[...averages.keys()][0]}" }, or false for the model's own.`,
    );
  }
  if (averaged !== false && first !== undefined) return first;
  const own = CHECKPOINT_FILES.find((file) => names.includes(file.name));
  if (own) return own.name;
  throw new CheckpointError(where, "it has no weights", `Its files are: ${names.join(", ") || "none"}.`);
}

async function ofFile({ path, format, isIndex }: Omit<WeightsFile, "kind">, key?: string): Promise<Weights> {
  if (isIndex) return { tensors: await readShards(format, path), metadata: {}, file: path };
  return { ...format.read(await bytesOf(path), path, key), file: path };
}

/** The tensors of all files that an index names. */
async function readShards(format: WeightsFormat, path: string): Promise<FileTensors> {
  const { dirname, join } = nodePath();
  const index = parseShardIndex(await bytesOf(path), path);
  const read: FileTensors = Object.create(null) as FileTensors;
  for (const name of new Set(index.weightMap.values())) {
    const shard = join(dirname(path), name);
    const { tensors } = format.read(await bytesOf(shard), shard);
    checkShard(index, name, Object.keys(tensors), badFile(path));
    Object.assign(read, tensors);
  }
  return read;
}

/** A file of weights, or the index of several. */
export interface WeightsFile {
  readonly kind: "file";
  readonly path: string;
  readonly format: WeightsFormat;
  readonly isIndex: boolean;
}

/** What a path stands for: a file, one checkpoint, or a directory of checkpoints. */
export type WeightsLocation =
  | WeightsFile
  | { readonly kind: "checkpoint"; readonly path: string }
  | { readonly kind: "checkpoints"; readonly path: string };

/** A model's files in directories that are no checkpoints, such as Hugging Face's. */
const MODEL_FILES = Object.values(FORMATS).flatMap(({ modelFile }) => [modelFile, modelFile + INDEX_ENDING]);
export const ENDINGS = Object.values(FORMATS)
  .flatMap(({ endings }) => endings)
  .join(", ");

/** Finds out what a path stands for. */
export async function locate(given: string): Promise<WeightsLocation> {
  const { join, resolve } = nodePath();
  const path = resolve(given);
  const entry = await entryAt(path);
  if (entry.kind === "file") {
    const found = formatOfFile(path);
    if (found) return { kind: "file", path, ...found };
    throw new CheckpointError(
      path,
      "its ending does not say what it is",
      `Files of tensors end in ${ENDINGS}, the index of several in ${INDEX_ENDING}.`,
    );
  }
  const { names } = entry;
  // A checkpoint without its manifest must not pass for a directory of weights.
  if (names.includes(MANIFEST) || names.includes("state.json")) return { kind: "checkpoint", path };
  if (names.includes(CHECKPOINTS)) return { kind: "checkpoints", path: join(path, CHECKPOINTS) };
  const model = MODEL_FILES.find((name) => names.includes(name));
  if (model !== undefined) return { kind: "file", path: join(path, model), ...formatOfFile(model)! };
  return { kind: "checkpoints", path };
}

export interface Newest {
  /** Newest first. */
  readonly checkpoints: readonly SavedCheckpoint[];
  /** Damaged ones that are newer than the first. */
  readonly skipped: readonly BadCheckpoint[];
}

/** The checkpoints in a directory whose files have the right sizes. It is an error if there are none. */
export async function checkpointsIn(root: string): Promise<Newest> {
  const { names } = (await entryAt(root)) as { names?: readonly string[] };
  const { join } = nodePath();
  const inside = await Promise.all((names ?? []).map((name) => entryAt(join(root, name)).catch(() => undefined)));
  if (!inside.some((each) => each?.kind === "directory" && each.names.includes(MANIFEST))) {
    const wayOut = `Give a run, a checkpoint, or a file that ends in ${ENDINGS}.`;
    throw new NothingHere(root, "it has no checkpoints in it", wayOut);
  }
  const store = await openDirectoryStore(root, { readOnly: true, thread: false });
  try {
    // Without any file it reads manifests and sizes only, and returns what it skipped.
    const { skipped } = await store.load({ files: [] });
    return { checkpoints: lastRunFirst(await store.list()), skipped };
  } finally {
    await store.close();
  }
}

/** There is no checkpoint at all, rather than a damaged one. */
export class NothingHere extends CheckpointError {}

/** Warns that the weights are of an older checkpoint than expected. */
function warnSkipped(used: string, skipped: readonly BadCheckpoint[]): void {
  if (skipped.length === 0) return;
  const list = skipped.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
  currentPlatform().warn(`the weights are those of ${used}, since newer checkpoints are damaged (${list})`);
}
