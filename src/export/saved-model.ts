// A trained model from its files alone: of a run, of one of its checkpoints, or of an exported folder.
import { chooseCheckpoint } from "../checkpoint/weights/choose-checkpoint.ts";
import { bytesOf, entryAt, manifestOf, nodePath } from "../checkpoint/weights/files.ts";
import { readWeights } from "../checkpoint/weights/read-weights.ts";
import { CheckpointError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { MANIFEST } from "../checkpoint/manifest.ts";
import { FORMATS, WEIGHTS_FILE } from "../runs/layout.ts";
import { readExported } from "./exported-folder.ts";
import { readModelFile, type ModelFile, type ReadFile } from "./model-file.ts";

export interface SavedModel extends ModelFile {
  /** Parameters and buffers by name. */
  readonly weights: HostTensors;
  /** Where the weights are from, for messages: `runs/churn, checkpoint step-000500 (best)`. */
  readonly from: string;
}

export interface SavedModelOptions {
  /** Of a run: `best` (default) where a monitor says which that is, `last`, or the name of a checkpoint. */
  readonly checkpoint?: string;
}

/** Reads a model from a run's directory, a checkpoint or an exported folder. */
export async function readSavedModel(path: string, options: SavedModelOptions = {}): Promise<SavedModel> {
  const entry = await entryAt(path);
  if (entry.kind === "file")
    throw new CheckpointError(path, "it is a file", "Give a run's directory, a checkpoint or an exported folder.");
  if (entry.names.includes(WEIGHTS_FILE)) return readExported(filesIn(path), path);
  const { dirname, join } = nodePath();
  if (entry.names.includes(MANIFEST)) {
    const { name, metrics } = await manifestOf(path);
    const file = await modelOf(dirname(dirname(path)));
    return { metrics, ...file, weights: await readWeights(path), from: `${path} (${name})` };
  }
  const { checkpoint, why, results } = await chooseCheckpoint(path, options.checkpoint ?? "best");
  const file = await modelOf(path);
  // Results are those of the weights that the experiment evaluated; any other checkpoint has its own metrics.
  const isEvaluated = checkpoint.name === (results?.checkpoint ?? results?.ended);
  const metrics = (isEvaluated ? results?.results : undefined) ?? checkpoint.metrics;
  const weights = await readWeights(join(path, "checkpoints", checkpoint.name));
  return { ...file, metrics, weights, from: `${path}, checkpoint ${checkpoint.name} (${why})` };
}

/** A run of an older version has no description of its model; with the model's code its weights can be used. */
async function modelOf(runDir: string): Promise<ModelFile> {
  const file = await readModelFile(filesIn(runDir), runDir);
  return (
    file ?? { reason: `it has no ${FORMATS.model.file}, which comes with the first checkpoint since hookline 0.2` }
  );
}

/** The files of a folder on a disk. */
export function filesIn(dir: string): ReadFile {
  return async (name) => {
    const path = nodePath().join(dir, name);
    const { names } = (await entryAt(dir)) as { names?: readonly string[] };
    return names?.includes(name) ? bytesOf(path) : undefined;
  };
}
