// The formats of weights. Each describes itself in its own file; reading, writing, converting, inspecting and checkpoints
// all derive from this table.
import type { WeightsFormatName } from "../../core/saving.ts";
import { safetensors } from "./safetensors.ts";
import type { ByteSource, FileDType, FileTensors } from "./tensor.ts";
import { pt } from "./torch/torch-checkpoint.ts";

/** The weights in a file. */
export interface FileWeights {
  readonly tensors: FileTensors;
  /** Text that the file has beside its tensors. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A tensor without its numbers. */
export interface TensorSummary {
  readonly file: string;
  /** In a .pt file, the path to it: `optimizer.state.0.exp_avg`. */
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/** What a file contains. */
export interface FileContents {
  readonly tensors: readonly Omit<TensorSummary, "file">[];
  /** Numbers in the model's tensors. */
  readonly parameters: number;
}

export interface WeightsFormat {
  readonly name: WeightsFormatName;
  /** Endings of file names; the first is used in checkpoints. */
  readonly endings: readonly string[];
  /** How other software names a model's file in a directory. */
  readonly modelFile: string;
  /** The file of a checkpoint in this format that has the model's weights, and the key under which it has them. */
  readonly checkpointFile: { readonly name: string; readonly key?: string };
  /** Reads a whole file; `path` names it in errors. `key` names the part with the weights, if it has several. */
  read(bytes: Uint8Array, path: string, key?: string): FileWeights;
  /** The file as chunks to be written in order. */
  encode(tensors: Readonly<FileTensors>, metadata?: Readonly<Record<string, string>>): Uint8Array[];
  /** Lists the tensors, from the header alone if the format has one. */
  inspect(file: ByteSource, path: string): Promise<FileContents>;
}

export const FORMATS: Readonly<Record<WeightsFormatName, WeightsFormat>> = { safetensors, pt };

/** Ends the name of the index of a model that is split over several files. */
export const INDEX_ENDING = ".index.json";

/** The format of a file by its name, and whether it is an index of such files. */
export function formatOfFile(name: string): { format: WeightsFormat; isIndex: boolean } | undefined {
  const lower = name.toLowerCase();
  const isIndex = lower.endsWith(INDEX_ENDING);
  const file = isIndex ? lower.slice(0, -INDEX_ENDING.length) : lower;
  const format = Object.values(FORMATS).find(({ endings }) => endings.some((ending) => file.endsWith(ending)));
  return format && { format, isIndex };
}

/** The name of the average (`ema`, `swa`) whose weights a file of a checkpoint has; undefined for other files. */
export function averageIn(file: string): string | undefined {
  const { format } = formatOfFile(file) ?? {};
  const ending = format?.endings.find((each) => file.endsWith(each));
  return file.startsWith("model-") && ending !== undefined ? file.slice("model-".length, -ending.length) : undefined;
}
