// Weights from whatever people have: a file of tensors, a checkpoint, a run.
import { CheckpointError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import { toHostArrays } from "../formats/tensor-values.ts";
import { decodePt } from "../formats/torch/pt.ts";
import { decodeSafetensors } from "../formats/safetensors.ts";
import { parseShardIndex, ShardedSafetensors } from "../formats/safetensors-file.ts";
import { matchTensors } from "../formats/state-dict.ts";
import type { FileTensors } from "../formats/tensor.ts";
import { weightsIn } from "../formats/torch/torch-checkpoint.ts";
import { OpenFiles, bytesOf, entryAt, manifestOf, nodePath, verifyFile, verifyInCheckpoint } from "./files.ts";
import { type BadCheckpoint, type SavedCheckpoint, lastRunFirst } from "../store.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { openDirectoryStore } from "../stores/directory-store.ts";
import { MANIFEST } from "../manifest.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";

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

// What a path stands for: a file of tensors, a checkpoint, or a directory with several of them.

export const SAFETENSORS = ".safetensors";
export const PT_ENDINGS: readonly string[] = [".pt", ".pth", ".bin", ".ckpt"];
const INDEX = ".index.json";
const ENDINGS = `${SAFETENSORS}, ${SAFETENSORS}${INDEX}, ${PT_ENDINGS.join(", ")}`;

/** How files of a model are named in directories that are no checkpoints of ours, those of Hugging Face for example. */
const MODEL_FILES = [
  "model.safetensors",
  "model.safetensors.index.json",
  "pytorch_model.bin",
  "pytorch_model.bin.index.json",
];

export type FileKind = "safetensors" | "safetensors-index" | "pt" | "pt-index";

export interface Place {
  readonly kind: "checkpoint" | "checkpoints" | FileKind;
  readonly path: string;
}

/** The kind of a file by its name. */
export function kindOfFile(name: string): FileKind | undefined {
  const lower = name.toLowerCase();
  const isIndex = lower.endsWith(INDEX);
  const plain = isIndex ? lower.slice(0, -INDEX.length) : lower;
  if (plain.endsWith(SAFETENSORS)) return isIndex ? "safetensors-index" : "safetensors";
  if (PT_ENDINGS.some((ending) => plain.endsWith(ending))) return isIndex ? "pt-index" : "pt";
  return undefined;
}

export async function placeOf(given: string): Promise<Place> {
  const { join, resolve } = nodePath();
  const path = resolve(given);
  const entry = await entryAt(path);
  if (entry.kind === "file") {
    const kind = kindOfFile(path);
    if (kind !== undefined) return { kind, path };
    throw new CheckpointError(path, "its ending does not say what it is", `Files of tensors end in ${ENDINGS}.`);
  }
  const { names } = entry;
  // A checkpoint that has lost its manifest must not pass for a directory of weights.
  if (names.includes(MANIFEST) || names.includes("state.json")) return { kind: "checkpoint", path };
  if (names.includes(CHECKPOINTS)) return { kind: "checkpoints", path: join(path, CHECKPOINTS) };
  const model = MODEL_FILES.find((name) => names.includes(name));
  if (model !== undefined) return { kind: kindOfFile(model)!, path: join(path, model) };
  return { kind: "checkpoints", path };
}

export interface Newest {
  /** Newest first. */
  readonly checkpoints: readonly SavedCheckpoint[];
  /** Those newer than the first that cannot be trusted. */
  readonly skipped: readonly BadCheckpoint[];
}

/** The checkpoints in a directory whose sizes are right; that none is intact, or none there at all, is an error. */
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
    // Without any file it reads manifests and sizes only, and says what it had to skip.
    const { skipped } = await store.load({ files: [] });
    return { checkpoints: lastRunFirst(await store.list()), skipped };
  } finally {
    await store.close();
  }
}

/** Not a damaged checkpoint: none. */
export class NothingHere extends CheckpointError {}

/** Says once that an older checkpoint stands in for newer ones: the numbers are not those that were expected. */
function warnSkipped(used: string, skipped: readonly BadCheckpoint[]): void {
  if (skipped.length === 0) return;
  const list = skipped.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
  currentPlatform().warn(`the weights are those of ${used}, since newer checkpoints are damaged (${list})`);
}
