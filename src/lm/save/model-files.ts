// A whole model as transformers saves it: config.json, the weights in one file or in shards with an index, and the files of
// its tokenizer, copied byte for byte.
import { safetensorsParts } from "../../checkpoint/formats/safetensors.ts";
import { castTensors, type FloatType, fromHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { badFile, bytesPerElement, type FileTensors } from "../../checkpoint/formats/tensor.ts";
import { sizeOf } from "../../core/arrays.ts";
import { CLASS_NAMES } from "../config/families.ts";
import type { ModelFiles } from "../load/model-files.ts";
import type { LanguageModel } from "../model/language-model.ts";
import { type Naming, parametersOf } from "../model/parameters.ts";
import { FURTHER_TEMPLATES, templatePath } from "../text/tokenizer-files.ts";
import type { ReadTensor } from "./merge.ts";
import type { NewFolder } from "./write-folder.ts";

/** What a model's folder has besides its config and weights. */
const COPIED: readonly string[] = [
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "chat_template.jinja",
  "chat_template.json",
  ...FURTHER_TEMPLATES.map(templatePath),
  "tokenizer.model",
  "vocab.json",
  "vocab.txt",
  "merges.txt",
  "LICENSE",
  "LICENSE.txt",
  "NOTICE",
];

const NAMES = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const;

export async function writeModel(
  folder: NewFolder,
  { architecture, source }: LanguageModel,
  naming: Naming,
  read: ReadTensor,
  { dtype, maxShard }: { dtype: FloatType; maxShard: number },
): Promise<void> {
  const parameters = parametersOf(architecture, naming);
  const sizes = [...parameters].map(([name, { shape }]) => [name, sizeOf(shape) * bytesPerElement(dtype)] as const);
  const shards = divided(sizes, maxShard);
  const weightMap: Record<string, string> = {};
  for (const [i, names] of shards.entries()) {
    const file = shardName(i, shards.length);
    const tensors: FileTensors = {};
    for (const name of names) {
      const values = fromHostArrays({ [name]: await read(name) });
      Object.assign(tensors, castTensors(values, dtype, badFile(file)));
      weightMap[name] = file;
    }
    await folder.write(file, safetensorsParts(tensors, { format: "pt" }));
  }
  if (shards.length > 1) {
    const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
    const index = { metadata: { total_size: total }, weight_map: weightMap };
    await folder.write("model.safetensors.index.json", `${JSON.stringify(index, undefined, 2)}\n`);
  }
  if (source.files) await copyFiles(source.files, folder);
  const { torch_dtype: before, ...config } = architecture.config;
  const type = before === undefined ? { dtype: NAMES[dtype] } : { torch_dtype: NAMES[dtype] };
  const known = { architectures: [CLASS_NAMES[architecture.family]!] };
  await folder.write("config.json", `${JSON.stringify({ ...known, ...config, ...type }, undefined, 2)}\n`);
}

/** Byte for byte: a model that never ends its texts is most often one whose special tokens were lost. */
async function copyFiles(from: ModelFiles, folder: NewFolder): Promise<void> {
  for (const name of COPIED) {
    if (!(await from.has(name))) continue;
    const file = await from.open(name);
    await folder.write(name, [await file.read(0, file.size)]);
  }
}

/** Names in groups of at most `most` bytes; a tensor that is larger is alone. */
function divided(sizes: readonly (readonly [name: string, bytes: number])[], most: number): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const [name, bytes] of sizes) {
    if (bytes > room || groups.length === 0) {
      groups.push([]);
      room = most;
    }
    groups.at(-1)!.push(name);
    room -= bytes;
  }
  return groups;
}

/** As transformers names them. */
const shardName = (index: number, count: number): string =>
  count === 1
    ? "model.safetensors"
    : `model-${String(index + 1).padStart(5, "0")}-of-${String(count).padStart(5, "0")}.safetensors`;
