// Writes weights to a file: those of a program (saveWeights), or of another file (convertCheckpoint). A file appears whole
// or not at all, and replaces another one only if asked to.
import { CheckpointError, OptionError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import { WEIGHT_FORMATS, type WeightsFormatName } from "../../core/saving.ts";
import { writeAtomically } from "../../runs/atomic-write.ts";
import { RENAME_CHECKS, type RenameOptions, renameTensors } from "../formats/state-dict.ts";
import { badFile } from "../formats/tensor.ts";
import { castTensors, FLOAT_TYPES, type FloatType, fromHostArrays } from "../formats/tensor-values.ts";
import { type FileWeights, FORMATS, formatOfFile, type WeightsFormat } from "../formats/weights-formats.ts";
import { entryAt, nodePath, onDisk } from "./files.ts";
import { ENDINGS } from "./locate.ts";
import { READ_CHECKS, type ReadWeightsOptions, weightsAt } from "./read-weights.ts";

interface WriteOptions {
  /** By default from the ending of the new file's name. */
  readonly format?: WeightsFormatName;
  /** The type of all floating-point tensors; by default each keeps its own. Numbers too large for it are an error. */
  readonly dtype?: FloatType;
  /** True replaces an existing file; default false. */
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

/** Options of `saveWeights`. */
export interface SaveWeightsOptions extends WriteOptions, Pick<RenameOptions, "rename"> {}

/**
 * Writes tensors as safetensors, or as a state dict in a .pt file, according to the ending of the file's name.
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
  const file = await NewFile.at("saveWeights", path, how);
  const renamed = fromHostArrays(renameTensors(tensors, { rename }));
  return file.write({ tensors: renamed, metadata: {} }, "the tensors");
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
  const { prefix, rename, strict, averaged, key, checkpoint, ...how } = options;
  const target = await NewFile.at("convertCheckpoint", to, how);
  const { tensors, metadata, file } = await weightsAt(from, {
    averaged,
    key,
    ...(checkpoint !== undefined && { checkpoint }),
  });
  return target.write({ tensors: renameTensors(tensors, { prefix, rename, strict }, file), metadata }, file);
}

/** A file that can be written: checked before the weights are read, which may take long. */
class NewFile {
  readonly #path: string;
  readonly #format: WeightsFormat;
  readonly #options: WriteOptions;

  private constructor(path: string, format: WeightsFormat, options: WriteOptions) {
    this.#path = path;
    this.#format = format;
    this.#options = options;
  }

  static async at(owner: string, to: string, options: WriteOptions): Promise<NewFile> {
    const format = options.format === undefined ? formatByEnding(owner, to) : FORMATS[options.format];
    const path = nodePath().resolve(to);
    await checkTarget(path, options.overwrite);
    return new NewFile(path, format, options);
  }

  /** `from` names the source of the weights in errors. */
  async write({ tensors: given, metadata }: FileWeights, from: string): Promise<WrittenWeights> {
    const { dtype, overwrite } = this.#options;
    const tensors = dtype === undefined ? given : castTensors(given, dtype, badFile(from));
    const chunks = this.#format.encode(tensors, metadata);
    await checkTarget(this.#path, overwrite);
    await onDisk(this.#path, () => writeAtomically(this.#path, chunks, "Writing a file of tensors"));
    return {
      path: this.#path,
      tensors: Object.keys(tensors).length,
      bytes: chunks.reduce((sum, { length }) => sum + length, 0),
    };
  }
}

function formatByEnding(owner: string, to: string): WeightsFormat {
  const found = formatOfFile(to);
  if (found && !found.isIndex) return found.format;
  const names = WEIGHT_FORMATS.map((name) => `"${name}"`).join(" or ");
  throw new OptionError(
    `${owner}: \`${to}\` does not say what to write. End it in ${ENDINGS}, or give \`format\`: ${names}.`,
  );
}

async function checkTarget(path: string, overwrite = false): Promise<void> {
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
