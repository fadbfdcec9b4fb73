// What `fit({ resume })` names: the run's own newest checkpoint, one of them, or any checkpoint or weights on the disk.
import { openDirectoryStore } from "../../checkpoint/stores/directory-store.ts";
import { bytesOf, nodePath, verifyInCheckpoint } from "../../checkpoint/weights/files.ts";
import { placeOf, readWeights } from "../../checkpoint/weights/read-weights.ts";
import type { LoadedCheckpoint } from "../../checkpoint/store.ts";
import { CheckpointError } from "../../core/errors.ts";
import { NO_CHECKPOINT } from "../../core/saving.ts";
import { isSafeName } from "../../core/safe-name.ts";
import { currentPlatform } from "../../platform/platform.ts";
import type { OptimizerSet } from "../optimizers.ts";
import { fromFiles } from "./checkpoint-files.ts";
import type { Place } from "./place.ts";
import type { Source } from "./restore.ts";
import { fromTorch, noOptimizers, unwrapped } from "./torch-files.ts";

/** Finds and reads it; undefined when `auto` finds nothing to go on from. */
export async function findSource(place: Place, resume: string, optimizers: OptimizerSet): Promise<Source | undefined> {
  if (resume === "auto") return fromPlace(place, undefined, optimizers);
  if (place.exists && isSafeName(resume) && !(await isFile(resume))) return fromPlace(place, resume, optimizers);
  const at = await placeOf(resume);
  const { basename, dirname } = nodePath();
  if (at.kind === "checkpoint") return fromDirectory(place, dirname(at.path), basename(at.path), optimizers);
  if (at.kind === "checkpoints") return fromDirectory(place, at.path, undefined, optimizers);
  if (at.kind === "pt") await verifyInCheckpoint(at.path);
  const weights =
    at.kind === "pt"
      ? fromTorch(await bytesOf(at.path), at.path, optimizers)
      : { model: unwrapped(await readWeights(at.path), optimizers), ...noOptimizers(optimizers) };
  const none = (): never => {
    throw new CheckpointError(at.path, "it has no state of hooks", "Resume from a checkpoint of hookline.");
  };
  return { from: at.path, read: { where: at.path, ...weights, tensorsIn: none }, skipped: [] };
}

/** Names of checkpoints and of files look alike. */
async function isFile(path: string): Promise<boolean> {
  if (currentPlatform().name === "browser") return false;
  return placeOf(path).then(
    () => true,
    () => false,
  );
}

/** The run goes on in its own place: under the same name, and after what is saved there. */
async function fromPlace(
  place: Place,
  name: string | undefined,
  optimizers: OptimizerSet,
): Promise<Source | undefined> {
  const loaded = await place.load(name);
  if (!loaded) return undefined;
  place.begin(loaded.checkpoint);
  return toSource(loaded, optimizers);
}

async function fromDirectory(
  place: Place,
  root: string,
  name: string | undefined,
  optimizers: OptimizerSet,
): Promise<Source> {
  if (place.dir !== undefined && nodePath().resolve(place.dir) === root)
    return (await fromPlace(place, name, optimizers)) ?? noCheckpoint(root);
  const store = await openDirectoryStore(root, { readOnly: true });
  try {
    return toSource(await store.load(name === undefined ? {} : { name }), optimizers);
  } finally {
    await store.close();
  }
}

function toSource({ checkpoint, files, skipped }: LoadedCheckpoint, optimizers: OptimizerSet): Source {
  const from = checkpoint.dir ?? checkpoint.name;
  return { from, read: fromFiles(files, from, optimizers), checkpoint, skipped };
}

function noCheckpoint(root: string): never {
  throw new CheckpointError(root, NO_CHECKPOINT, "Check the path, or start without `resume`.");
}
