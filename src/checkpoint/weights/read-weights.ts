// Reads weights from a file, a checkpoint or a run.
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { checkShard, parseShardIndex } from "../formats/shards.ts";
import { badFile, type FileTensors } from "../formats/tensor.ts";
import { toHostArrays } from "../formats/tensor-values.ts";
import { averageIn, type FileWeights, FORMATS, formatOfFile, type WeightsFormat } from "../formats/weights-formats.ts";
import type { BadCheckpoint, SavedCheckpoint } from "../store.ts";
import { checkpointsIn } from "./checkpoints-in.ts";
import { chooseAmong } from "./choose-checkpoint.ts";
import { bytesOf, manifestOf, nodePath, verifyFile, verifyInCheckpoint } from "./files.ts";
import { locate, type WeightsFile } from "./locate.ts";

/** Options of `readWeights`. */
export interface ReadWeightsOptions {
  /**
   * If a checkpoint has averaged weights (`ema`, `swa`), those are read. False reads the model's own; a name chooses one
   * of several averages; true makes their absence an error.
   */
  readonly averaged?: boolean | string;
  /** The part of a .pt file that has the weights, if it has several. */
  readonly key?: string;
  /**
   * Of a run: `best` (the default) where a monitor says which that is and otherwise the newest that is intact, `last`, or
   * the name of a checkpoint.
   */
  readonly checkpoint?: string;
}

export const READ_CHECKS = { averaged: is.or(is.boolean, is.name), key: is.name, checkpoint: is.name };

export interface Weights extends FileWeights {
  /** The file that they are from, for errors. */
  readonly file: string;
}

/**
 * The weights in a file (`.safetensors`, its sharded index, `.pt`, `.pth`, `.bin`, `.ckpt`), in a checkpoint, or in the
 * best checkpoint of a run. Nothing in a file is ever run.
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
  if (at.kind === "checkpoints") return ofRun(at.path, options);
  if (options.checkpoint !== undefined)
    throw new CheckpointError(at.path, "only runs have several checkpoints", "Leave out `checkpoint`.");
  if (at.kind === "checkpoint") return ofCheckpoint(await manifestOf(at.path), options);
  if (options.averaged !== undefined && options.averaged !== false) {
    throw new CheckpointError(at.path, "only checkpoints have averaged weights beside others", "Leave out `averaged`.");
  }
  await verifyInCheckpoint(at.path);
  return ofFile(at, options.key);
}

async function ofRun(root: string, options: ReadWeightsOptions): Promise<Weights> {
  const { checkpoint, why } = await chooseAmong(root, options.checkpoint ?? "best");
  return why === "best" || why === "named" ? ofCheckpoint(checkpoint, options) : ofNewest(root, options);
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

/** Warns that the weights are of an older checkpoint than expected. */
function warnSkipped(used: string, skipped: readonly BadCheckpoint[]): void {
  if (skipped.length === 0) return;
  const list = skipped.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
  currentPlatform().warn(`the weights are those of ${used}, since newer checkpoints are damaged (${list})`);
}
