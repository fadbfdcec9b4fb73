// What a path stands for: a file of tensors, a checkpoint, or a directory with several of them.
import { CheckpointError } from "../core/errors.ts";
import { currentPlatform } from "../platform/platform.ts";
import { openDirectoryStore } from "./directory-store.ts";
import { MANIFEST } from "./manifest.ts";
import { entryAt, nodePath } from "./read-weights-disk.ts";
import { lastRunFirst, type BadCheckpoint, type SavedCheckpoint } from "./store.ts";

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
  if (names.includes("checkpoints")) return { kind: "checkpoints", path: join(path, "checkpoints") };
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
export function warnSkipped(used: string, skipped: readonly BadCheckpoint[]): void {
  if (skipped.length === 0) return;
  const list = skipped.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
  currentPlatform().warn(`the weights are those of ${used}, since newer checkpoints are damaged (${list})`);
}
