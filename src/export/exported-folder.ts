// An exported folder, on a disk, at a URL or among a browser's own files. Apart from runs, which a page cannot read.
import { decodeSafetensors } from "../checkpoint/formats/safetensors.ts";
import { toHostArrays } from "../checkpoint/formats/tensor-values.ts";
import { CheckpointError } from "../core/errors.ts";
import { FORMATS, WEIGHTS_FILE } from "../runs/layout.ts";
import { readModelFile, type ReadFile } from "./model-file.ts";
import type { SavedModel } from "./saved-model.ts";

/** Reads an exported folder, wherever it is: model.json and its weights. */
export async function readExported(read: ReadFile, where: string): Promise<SavedModel> {
  const file = await readModelFile(read, where);
  if (!file) throw noModel(where);
  const path = `${where}/${WEIGHTS_FILE}`;
  const bytes = await read(WEIGHTS_FILE);
  if (!bytes) throw new CheckpointError(path, "it is missing", "Export the model again, with --format hookline.");
  return { ...file, weights: toHostArrays(decodeSafetensors(bytes, path).tensors, path), from: where };
}

const noModel = (where: string): CheckpointError =>
  new CheckpointError(
    `${where}/${FORMATS.model.file}`,
    "there is no such file",
    "Give a folder that `hookline export` has written.",
  );
