// Weights from one kind of file into another: safetensors and .pt, with other names or in another type.
import { CheckpointError, OptionError } from "../core/errors.ts";
import { checkOptions, is } from "../core/options.ts";
import { writeInPlace } from "./convert-write.ts";
import { badFile } from "./formats/bad-file.ts";
import { castTensors, FLOAT_TYPES, type FloatType } from "./formats/cast.ts";
import { ptParts } from "./formats/pt.ts";
import { safetensorsParts } from "./formats/safetensors.ts";
import { renameTensors, type RenameOptions } from "./formats/state-dict.ts";
import { entryAt, nodePath } from "./read-weights-disk.ts";
import { kindOfFile, PT_ENDINGS, SAFETENSORS } from "./read-weights-place.ts";
import { READ_CHECKS, weightsAt, type ReadWeightsOptions } from "./read-weights.ts";

type Format = "safetensors" | "pt";

export interface ConvertOptions extends ReadWeightsOptions, RenameOptions {
  /** By default as the name of the new file ends. */
  readonly format?: Format;
  /** The type of all floating-point tensors; by default each keeps its own. Numbers too large for it are an error. */
  readonly dtype?: FloatType;
  /** True replaces a file that is there; default false. */
  readonly overwrite?: boolean;
}

export interface Converted {
  readonly path: string;
  /** How many. */
  readonly tensors: number;
  readonly bytes: number;
}

const CHECKS = {
  from: is.name,
  to: is.name,
  ...READ_CHECKS,
  prefix: is.string,
  rename: is.or(is.object, is.function),
  strict: is.boolean,
  format: is.oneOf("safetensors", "pt"),
  dtype: is.oneOf(...FLOAT_TYPES),
  overwrite: is.boolean,
};

/**
 * Writes the weights of a file, a checkpoint or a run as safetensors or as a state dict in a .pt file.
 * @example await convertCheckpoint("runs/mnist", "mnist.safetensors", { dtype: "BF16" });
 */
export async function convertCheckpoint(from: string, to: string, options: ConvertOptions = {}): Promise<Converted> {
  checkOptions("convertCheckpoint", { from, to, ...options }, CHECKS, ["from", "to"]);
  const { prefix, rename, strict, dtype, overwrite = false, averaged, key } = options;
  const format = options.format ?? formatOf(to);
  const path = nodePath().resolve(to);
  // Before the reading, which may take long, and again before the writing.
  await mayWrite(path, overwrite);
  const source = await weightsAt(from, { averaged, key });
  const renamed = renameTensors(source.tensors, { prefix, rename, strict }, source.file);
  const tensors = dtype === undefined ? renamed : castTensors(renamed, dtype, badFile(source.file));
  // Without `format` some readers (Hugging Face's transformers) refuse the file; names and layouts are PyTorch's.
  const parts = format === "pt" ? ptParts(tensors) : safetensorsParts(tensors, { format: "pt", ...source.metadata });
  await mayWrite(path, overwrite);
  await writeInPlace(path, parts);
  return {
    path,
    tensors: Object.keys(tensors).length,
    bytes: parts.reduce((sum, { length }) => sum + length, 0),
  };
}

function formatOf(to: string): Format {
  const kind = kindOfFile(to);
  if (kind === "safetensors" || kind === "pt") return kind;
  throw new OptionError(
    `convertCheckpoint: \`${to}\` does not say what to write. End it in ${[SAFETENSORS, ...PT_ENDINGS].join(", ")}, or give \`format\`: "safetensors" or "pt".`,
  );
}

async function mayWrite(path: string, overwrite: boolean): Promise<void> {
  const { dirname } = nodePath();
  const folder = await entryAt(dirname(path));
  if (folder.kind !== "directory")
    throw new CheckpointError(dirname(path), "it is no directory", "Choose another place for the file.");
  const found = await entryAt(path).catch(() => undefined);
  if (found?.kind === "directory")
    throw new CheckpointError(path, "it is a directory", "Give the name of a file to be written.");
  if (found !== undefined && !overwrite)
    throw new CheckpointError(path, "it is there already", "Choose another name, or use overwrite: true.");
}
