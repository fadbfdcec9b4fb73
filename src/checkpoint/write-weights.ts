// Tensors into a new file, as safetensors or as a state dict in a .pt file: whole, and over another one only if told to.
import { CheckpointError, OptionError } from "../core/errors.ts";
import { is } from "../core/options.ts";
import { WEIGHT_FORMATS, type WeightFormat } from "../core/saving.ts";
import { writeInPlace } from "./convert-write.ts";
import { badFile } from "./formats/bad-file.ts";
import { castTensors, FLOAT_TYPES, type FloatType } from "./formats/cast.ts";
import { ptParts } from "./formats/pt.ts";
import { safetensorsParts } from "./formats/safetensors.ts";
import type { FileTensors } from "./formats/tensor.ts";
import { entryAt, nodePath } from "./read-weights-disk.ts";
import { kindOfFile, PT_ENDINGS, SAFETENSORS } from "./read-weights-place.ts";

export interface WriteOptions {
  /** By default as the name of the new file ends. */
  readonly format?: WeightFormat;
  /** The type of all floating-point tensors; by default each keeps its own. Numbers too large for it are an error. */
  readonly dtype?: FloatType;
  /** True replaces a file that is there; default false. */
  readonly overwrite?: boolean;
}

export const WRITE_CHECKS = {
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
export interface GivenWeights {
  readonly tensors: FileTensors;
  /** For a safetensors file. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Where they are from, for errors. */
  readonly from: string;
}

/** A file that can be written. Checked at once: what is to go into it may take long. */
export class NewWeightsFile {
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
    await writeInPlace(this.#path, parts);
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
