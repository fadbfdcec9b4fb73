// Tensors into a new file, as safetensors or as a state dict in a .pt file: whole, and over another one only if told to.
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { WEIGHT_FORMATS, type WeightFormat } from "../../core/saving.ts";
import { writeAtomically } from "../../runs/atomic-write.ts";
import { entryAt, nodePath, onDisk } from "./files.ts";
import { type FileTensors, badFile } from "../formats/tensor.ts";
import { FLOAT_TYPES, type FloatType, castTensors, fromHostArrays } from "../formats/tensor-values.ts";
import { ptParts } from "../formats/torch/pt.ts";
import { safetensorsParts } from "../formats/safetensors.ts";
import {
  PT_ENDINGS,
  READ_CHECKS,
  type ReadWeightsOptions,
  SAFETENSORS,
  kindOfFile,
  weightsAt,
} from "./read-weights.ts";
import type { HostTensors } from "../../core/model.ts";
import { renameTensors, RENAME_CHECKS, type RenameOptions } from "../formats/state-dict.ts";

interface WriteOptions {
  /** By default as the name of the new file ends. */
  readonly format?: WeightFormat;
  /** The type of all floating-point tensors; by default each keeps its own. Numbers too large for it are an error. */
  readonly dtype?: FloatType;
  /** True replaces a file that is there; default false. */
  readonly overwrite?: boolean;
}

const WRITE_CHECKS = {
  format: is.oneOf(...WEIGHT_FORMATS),
  dtype: is.oneOf(...FLOAT_TYPES),
  overwrite: is.boolean,
};

/** A file of weights that was written. */
export interface WrittenWeights {
  readonly path: string;
  /** How many. */
  readonly tensors: number;
  readonly bytes: number;
}

/** What is to be written, and what is needed to tell of it. */
interface GivenWeights {
  readonly tensors: FileTensors;
  /** For a safetensors file. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Where they are from, for errors. */
  readonly from: string;
}

/** A file that can be written. Checked at once: what is to go into it may take long. */
class NewWeightsFile {
  readonly #path: string;
  readonly #format: WeightFormat;
  readonly #options: WriteOptions;

  private constructor(path: string, format: WeightFormat, options: WriteOptions) {
    this.#path = path;
    this.#format = format;
    this.#options = options;
  }

  static async at(owner: string, to: string, options: WriteOptions): Promise<NewWeightsFile> {
    const format = options.format ?? formatOf(owner, to);
    const path = nodePath().resolve(to);
    await mayWrite(path, options.overwrite);
    return new NewWeightsFile(path, format, options);
  }

  async write({ tensors: given, metadata, from }: GivenWeights): Promise<WrittenWeights> {
    const { dtype, overwrite } = this.#options;
    const tensors = dtype === undefined ? given : castTensors(given, dtype, badFile(from));
    // Without `format` some readers (Hugging Face's transformers) refuse the file; names and layouts are PyTorch's.
    const parts = this.#format === "pt" ? ptParts(tensors) : safetensorsParts(tensors, { format: "pt", ...metadata });
    await mayWrite(this.#path, overwrite);
    await onDisk(this.#path, () => writeAtomically(this.#path, parts, "Writing a file of tensors"));
    return {
      path: this.#path,
      tensors: Object.keys(tensors).length,
      bytes: parts.reduce((sum, { length }) => sum + length, 0),
    };
  }
}

function formatOf(owner: string, to: string): WeightFormat {
  const kind = kindOfFile(to);
  if (kind === "safetensors" || kind === "pt") return kind;
  throw new OptionError(
    `${owner}: \`${to}\` does not say what to write. End it in ${[SAFETENSORS, ...PT_ENDINGS].join(", ")}, or give \`format\`: "safetensors" or "pt".`,
  );
}

async function mayWrite(path: string, overwrite = false): Promise<void> {
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

/** Options of `saveWeights`. */
export interface SaveWeightsOptions extends WriteOptions, Pick<RenameOptions, "rename"> {}

/**
 * Writes tensors as safetensors, or as a state dict in a .pt file, as the name of the file ends.
 * @example await saveWeights("model.safetensors", await trainer.stateDict());
 */
export async function saveWeights(
  path: string,
  tensors: HostTensors,
  options: SaveWeightsOptions = {},
): Promise<WrittenWeights> {
  const checks = { path: is.name, tensors: is.object, rename: RENAME_CHECKS.rename, ...WRITE_CHECKS };
  checkOptions("saveWeights", { path, tensors, ...options }, checks, ["path", "tensors"]);
  const { rename, ...how } = options;
  const file = await NewWeightsFile.at("saveWeights", path, how);
  return file.write({ tensors: fromHostArrays(renameTensors(tensors, { rename })), from: "the tensors" });
}

/** Options of `convertCheckpoint`. */
export interface ConvertOptions extends ReadWeightsOptions, RenameOptions, WriteOptions {}

/**
 * Writes the weights of a file, a checkpoint or a run as safetensors or as a state dict in a .pt file.
 * @example await convertCheckpoint("runs/mnist", "mnist.safetensors", { dtype: "BF16" });
 */
export async function convertCheckpoint(
  from: string,
  to: string,
  options: ConvertOptions = {},
): Promise<WrittenWeights> {
  const checks = { from: is.name, to: is.name, ...READ_CHECKS, ...RENAME_CHECKS, ...WRITE_CHECKS };
  checkOptions("convertCheckpoint", { from, to, ...options }, checks, ["from", "to"]);
  const { prefix, rename, strict, averaged, key, ...how } = options;
  const file = await NewWeightsFile.at("convertCheckpoint", to, how);
  const source = await weightsAt(from, { averaged, key });
  const tensors = renameTensors(source.tensors, { prefix, rename, strict }, source.file);
  return file.write({ tensors, metadata: source.metadata, from: source.file });
}
