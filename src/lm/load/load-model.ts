// loadModel: the folder of a model, as transformers saves it, becomes a model to train and to generate with.
import { toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { HooklineError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, type Json } from "../../core/options.ts";
import { readGenerationDefaults } from "../config/generation-config.ts";
import { readConfig } from "../config/read-config.ts";
import { type LanguageModel, makeLanguageModel } from "../model/language-model.ts";
import { folderTensors, noConfig, type TensorEntry } from "./folder-tensors.ts";
import { matchTensors } from "./match-tensors.ts";
import { type ModelFiles, readJsonFile } from "./model-files.ts";
import { loadTokenizer, type Tokenizer } from "../text/tokenizer.ts";
import { nodeFolder } from "./node-folder.ts";

/** Options of `loadModel`. */
export interface LoadModelOptions {}

const GENERATION = "generation_config.json";

/**
 * Loads the folder of a language model: config.json with model.safetensors, or its shards, in F32, F16 or BF16. All
 * parameters train.
 * @example const model = await loadModel("models/SmolLM2-135M");
 */
export async function loadModel(from: string | ModelFiles, options: LoadModelOptions = {}): Promise<LanguageModel> {
  checkOptions("loadModel", options, {});
  const files = typeof from === "string" ? await nodeFolder(from) : from;
  if (!(await files.has("config.json"))) throw await noConfig(files);
  const config = await readJsonFile(files, "config.json");
  const architecture = readConfig(config, `${files.path}/config.json`);
  const { naming, tensors } = await matchTensors(architecture, await folderTensors(files), files.path);
  const generation = (await files.has(GENERATION))
    ? await readJsonFile(files, GENERATION)
    : ({} as Record<string, Json>);
  return makeLanguageModel({
    architecture,
    root: naming.root,
    tensors: await readAll(tensors),
    tokenizer: await tokenizerOf(files),
    generation: readGenerationDefaults(generation, config, `${files.path}/${GENERATION}`),
    source: { path: files.path },
  });
}

/** One tensor at a time, so that there is never a second copy of the model. */
async function readAll(tensors: ReadonlyMap<string, TensorEntry>): Promise<HostTensors> {
  const read: HostTensors = {};
  for (const [name, entry] of tensors) Object.assign(read, toHostArrays({ [name]: await entry.read() }, entry.file));
  return read;
}

/** A model may be used without its tokenizer, so that what is wrong with it is thrown when it is first needed. */
async function tokenizerOf(files: ModelFiles): Promise<() => Tokenizer> {
  try {
    const tokenizer = await loadTokenizer(files);
    return () => tokenizer;
  } catch (error) {
    if (!(error instanceof HooklineError)) throw error;
    return () => {
      throw error;
    };
  }
}
