// Weights from whatever people have: a file of tensors, a checkpoint, a run.
import { CheckpointError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { toHostArrays } from "./formats/host-arrays.ts";
import { decodePt } from "./formats/pt.ts";
import { decodeSafetensors } from "./formats/safetensors.ts";
import { parseShardIndex, ShardedSafetensors } from "./formats/safetensors-shards.ts";
import { matchTensors } from "./formats/state-dict.ts";
import type { FileTensors } from "./formats/tensor.ts";
import { weightsIn } from "./formats/torch-checkpoint.ts";
import { bytesOf, nodePath, OpenFiles } from "./read-weights-disk.ts";
import { manifestOf, verifyFile, verifyInCheckpoint } from "./read-weights-manifest.ts";
import { checkpointsIn, kindOfFile, placeOf, warnSkipped, type FileKind } from "./read-weights-place.ts";
import type { BadCheckpoint, SavedCheckpoint } from "./store.ts";

/** Options of `readWeights`. */
export interface ReadWeightsOptions {
  /**
   * Of a checkpoint with averaged weights (`ema`, `swa`), those are read. False reads the model's own; a name chooses
   * where there are several averages; true makes their absence an error.
   */
  readonly averaged?: boolean | string;
  /** The part of a .pt file that has the weights, where it has several. */
  readonly key?: string;
}

export const READ_CHECKS = { averaged: is.or(is.boolean, is.name), key: is.name };

export interface Weights {
  readonly tensors: FileTensors;
  /** Of a safetensors file. */
  readonly metadata: Readonly<Record<string, string>>;
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
  const place = await placeOf(path);
  if (place.kind === "checkpoint") return ofCheckpoint(await manifestOf(place.path), options);
  if (place.kind === "checkpoints") return ofNewest(place.path, options);
  if (options.averaged !== undefined && options.averaged !== false) {
    throw new CheckpointError(
      place.path,
      "only checkpoints have averaged weights beside others",
      "Leave out `averaged`.",
    );
  }
  await verifyInCheckpoint(place.path);
  return ofFile(place.kind, place.path, options);
}

/** Digests are checked only when a file is read, so one may turn out damaged: then the one before it is taken. */
async function ofNewest(root: string, options: ReadWeightsOptions): Promise<Weights> {
  const { checkpoints, skipped } = await checkpointsIn(root);
  const damaged: BadCheckpoint[] = [...skipped];
  let first: unknown;
  for (const checkpoint of checkpoints) {
    const file = weightsFile(checkpoint, options.averaged);
    try {
      const weights = await readVerified(checkpoint, file, options);
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
  readVerified(checkpoint, weightsFile(checkpoint, options.averaged), options);

async function readVerified(
  { dir, files }: SavedCheckpoint,
  name: string,
  { key }: ReadWeightsOptions,
): Promise<Weights> {
  const path = nodePath().join(dir!, name);
  await verifyFile(path, files[name]!, true);
  return ofFile(kindOfFile(name)!, path, { key: key ?? ownKey(name) });
}

/** In a checkpoint of ours the weights have their place. */
const ownKey = (name: string): string | undefined => (name === "checkpoint.pt" ? "model" : undefined);

const AVERAGED = /^model-(.+)\.safetensors$/;

/** Which of a checkpoint's files has the weights that are wanted. */
function weightsFile({ dir, name, files }: SavedCheckpoint, averaged: boolean | string | undefined): string {
  const where = dir ?? name;
  const names = Object.keys(files);
  const averages = names.flatMap((file) => AVERAGED.exec(file)?.[1] ?? []);
  const has = `It has: ${averages.join(", ") || "none"}.`;
  if (typeof averaged === "string") {
    if (averages.includes(averaged)) return `model-${averaged}.safetensors`;
    throw new CheckpointError(where, `it has no averaged weights named \`${averaged}\``, has);
  }
  if (averaged === true && averages.length === 0)
    throw new CheckpointError(where, "it has no averaged weights", "Leave out `averaged` to take the model's own.");
  if (averaged !== false && averages.length > 1) {
    const reason = `it has several averaged weights (${averages.join(", ")})`;
    throw new CheckpointError(where, reason, `Choose: { averaged: "${averages[0]}" }, or false for the model's own.`);
  }
  if (averaged !== false && averages[0] !== undefined) return `model-${averages[0]}.safetensors`;
  const own = ["model.safetensors", "checkpoint.pt"].find((file) => names.includes(file));
  if (own !== undefined) return own;
  throw new CheckpointError(where, "it has no weights", `Its files are: ${names.join(", ") || "none"}.`);
}

async function ofFile(kind: FileKind, path: string, { key }: ReadWeightsOptions): Promise<Weights> {
  if (kind === "safetensors") return { ...decodeSafetensors(await bytesOf(path), path), file: path };
  const tensors =
    kind === "safetensors-index"
      ? await ofShards(path)
      : kind === "pt-index"
        ? await ofPtShards(path)
        : weightsIn(decodePt(await bytesOf(path), path), path, key);
  return { tensors, metadata: {}, file: path };
}

async function ofShards(path: string): Promise<FileTensors> {
  const { dirname, join } = nodePath();
  const files = new OpenFiles();
  try {
    const model = new ShardedSafetensors(await bytesOf(path), path, (name) => files.open(join(dirname(path), name)));
    const tensors = Object.create(null) as FileTensors;
    for (const name of model.names) tensors[name] = await model.read(name);
    return tensors;
  } finally {
    await files.close();
  }
}

/** Shards as older models on Hugging Face have them: the same index over .bin files. */
async function ofPtShards(path: string): Promise<FileTensors> {
  const { dirname, join } = nodePath();
  const { weightMap } = parseShardIndex(await bytesOf(path), path);
  const tensors = Object.create(null) as FileTensors;
  for (const name of new Set(weightMap.values())) {
    const shard = join(dirname(path), name);
    const found = weightsIn(decodePt(await bytesOf(shard), shard), shard);
    const wanted = [...weightMap.keys()].filter((tensor) => weightMap.get(tensor) === name);
    // The index has no shapes: each tensor is compared with itself, and names alone count.
    const own = Object.fromEntries(wanted.map((tensor) => [tensor, found[tensor] ?? { shape: [] }]));
    Object.assign(tensors, matchTensors(found, own, {}, shard).tensors);
  }
  return tensors;
}
