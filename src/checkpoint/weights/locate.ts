// Finds out what a path stands for: a file of weights, a checkpoint, or a directory of checkpoints.
import { CheckpointError } from "../../core/errors.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";
import { FORMATS, formatOfFile, INDEX_ENDING, type WeightsFormat } from "../formats/weights-formats.ts";
import { MANIFEST } from "../manifest.ts";
import { entryAt, nodePath } from "./files.ts";

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
