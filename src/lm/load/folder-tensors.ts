// The tensors of a model's folder, in one file or in several with an index. Only headers are read until a tensor is.
import { SafetensorsFile, type TensorInfo } from "../../checkpoint/formats/safetensors.ts";
import { checkShard, parseShardIndex } from "../../checkpoint/formats/shards.ts";
import { badFile, type FileTensor } from "../../checkpoint/formats/tensor.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { ModelFiles } from "./model-files.ts";

const SINGLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";

/** A tensor in a file, which can be read. */
export interface TensorEntry extends Pick<TensorInfo, "dtype" | "shape"> {
  /** The path of its file, for messages. */
  readonly file: string;
  read(): Promise<FileTensor>;
}

/** All tensors by name. Throws if a file is missing or damaged, or is not what the index says. */
export async function folderTensors(files: ModelFiles): Promise<ReadonlyMap<string, TensorEntry>> {
  if (await files.has(SINGLE)) return openTensors(files, SINGLE);
  if (!(await files.has(INDEX))) throw await noWeights(files);
  const path = `${files.path}/${INDEX}`;
  const index = parseShardIndex(new TextEncoder().encode(await files.readText(INDEX)), path);
  const all = new Map<string, TensorEntry>();
  for (const shard of new Set(index.weightMap.values())) {
    if (!(await files.has(shard)))
      throw new CheckpointError(
        `${files.path}/${shard}`,
        `it is missing, and ${INDEX} says that it has tensors`,
        "Download all files of the model.",
      );
    const file = await openFile(files, shard);
    checkShard(index, shard, file.names, badFile(path));
    for (const [name, entry] of entriesOf(file, files, shard)) all.set(name, entry);
  }
  return all;
}

/** The tensors of one file. */
export const openTensors = async (files: ModelFiles, name: string): Promise<ReadonlyMap<string, TensorEntry>> =>
  new Map(entriesOf(await openFile(files, name), files, name));

async function openFile(files: ModelFiles, name: string): Promise<SafetensorsFile> {
  const path = `${files.path}/${name}`;
  const source = await files.open(name);
  const start = new TextDecoder().decode(await source.read(0, Math.min(source.size, 24)));
  if (start.startsWith("version https://git-lfs"))
    throw new CheckpointError(path, "it is a pointer of Git LFS, not the file", "Get the files: git lfs pull.");
  return SafetensorsFile.open(source, path);
}

const entriesOf = (file: SafetensorsFile, files: ModelFiles, name: string): [string, TensorEntry][] =>
  file.names.map((tensor) => {
    const { dtype, shape } = file.info(tensor);
    return [tensor, { dtype, shape, file: `${files.path}/${name}`, read: () => file.read(tensor) }];
  });

async function noWeights(files: ModelFiles): Promise<CheckpointError> {
  const names = (await files.names()) ?? [];
  const torch = names.find((name) => name.startsWith("pytorch_model"));
  const fix = torch
    ? `It has ${torch}: save the model again with transformers, model.save_pretrained(folder).`
    : "Download the model's weights: hf download <model> --local-dir <folder>.";
  return new CheckpointError(files.path, `it has no ${SINGLE}, and no ${INDEX}`, fix);
}

/** The error for a folder without config.json: what it is, if that can be seen. */
export async function noConfig(files: ModelFiles): Promise<CheckpointError> {
  const names = (await files.names()) ?? [];
  const ending = (end: string): string | undefined => names.find((name) => name.endsWith(end));
  const other = ending(".gguf") ?? ending(".onnx") ?? names.find((name) => name === "onnx");
  const what = other === undefined ? "" : `; ${other} is of a format that hookline/lm does not read`;
  return new CheckpointError(
    files.path,
    `it has no config.json${what}`,
    "Give the folder of a model as transformers saves it: hf download <model> --local-dir <folder>.",
  );
}
