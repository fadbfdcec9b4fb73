// The tensors of a file without their numbers: from headers where the format has them.
import { parseShardIndex } from "./formats/safetensors-shards.ts";
import { SafetensorsFile } from "./formats/safetensors-file.ts";
import { isFileTensor, type PtValue } from "./formats/pt-value.ts";
import { decodePt } from "./formats/pt.ts";
import type { FileDType } from "./formats/tensor.ts";
import { weightsIn } from "./formats/torch-checkpoint.ts";
import { bytesOf, nodePath, OpenFiles } from "./read-weights-disk.ts";
import type { FileKind } from "./read-weights-place.ts";

/** A tensor that `inspectCheckpoint` found. */
export interface TensorSummary {
  readonly file: string;
  /** In a .pt file, the way to it: `optimizer.state.0.exp_avg`. */
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

export interface FileContents {
  readonly tensors: readonly TensorSummary[];
  /** Numbers in the model's tensors. */
  readonly parameters: number;
}

const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const countAll = (tensors: readonly { readonly shape: readonly number[] }[]): number =>
  tensors.reduce((sum, { shape }) => sum + elements(shape), 0);

/** What is in a file, or in all the files of an index. */
export async function contentsOf(kind: FileKind, path: string): Promise<FileContents> {
  const { basename, dirname, join } = nodePath();
  if (kind === "safetensors") {
    const tensors = await headerOf(path);
    return { tensors, parameters: countAll(tensors) };
  }
  if (kind === "pt") {
    const value = decodePt(await bytesOf(path), path);
    const tensors: TensorSummary[] = [];
    collect(value, "", basename(path), tensors);
    return { tensors, parameters: countAll(modelIn(value)) };
  }
  const { weightMap } = parseShardIndex(await bytesOf(path), path);
  const shardKind = kind === "pt-index" ? "pt" : "safetensors";
  const shards = [...new Set(weightMap.values())].map((name) => contentsOf(shardKind, join(dirname(path), name)));
  const found = await Promise.all(shards);
  return {
    tensors: found.flatMap(({ tensors }) => tensors),
    parameters: found.reduce((sum, { parameters }) => sum + parameters, 0),
  };
}

async function headerOf(path: string): Promise<TensorSummary[]> {
  const files = new OpenFiles();
  try {
    const opened = await SafetensorsFile.open(await files.open(path), path);
    const file = nodePath().basename(path);
    return opened.names.map((name) => {
      const { dtype, shape, begin, end } = opened.info(name);
      return { file, name, dtype, shape, bytes: end - begin };
    });
  } finally {
    await files.close();
  }
}

function collect(value: PtValue, name: string, file: string, into: TensorSummary[]): void {
  if (isFileTensor(value)) {
    const { dtype, shape, bytes } = value;
    into.push({ file, name, dtype, shape, bytes: bytes.length });
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    const parts = value instanceof Map ? value : Object.entries(value as Record<string, PtValue>);
    for (const [key, part] of parts) collect(part, name === "" ? String(key) : `${name}.${key}`, file, into);
  }
}

function modelIn(value: PtValue): readonly { readonly shape: readonly number[] }[] {
  try {
    return Object.values(weightsIn(value, "a file"));
  } catch {
    // Tensors of something else than a model: there is nothing to count.
    return [];
  }
}
