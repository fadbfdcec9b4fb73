// loadModel: the folder of a model, as transformers saves it, becomes a model to train and to generate with.
import type { FrozenBase, HostTensors } from "../../core/model.ts";
import { checkOptions, is, type Json } from "../../core/options.ts";
import type { Architecture } from "../config/architecture.ts";
import { readGenerationDefaults } from "../config/generation-config.ts";
import { readConfig } from "../config/read-config.ts";
import { type LanguageModel, makeLanguageModel } from "../model/language-model.ts";
import { type Adapter, allMatrices, initialAdapter, type Lora, newAdapter } from "../model/lora.ts";
import type { BaseStorage } from "../model/packed.ts";
import { tokenizerOf } from "../text/tokenizer.ts";
import { folderTensors, noConfig, type TensorEntry } from "./folder-tensors.ts";
import { frozenBase, readFloats } from "./frozen-base.ts";
import { matchTensors, type MatchedTensors } from "./match-tensors.ts";
import { type ModelFiles, readJsonFile } from "./model-files.ts";
import { nodeFolder } from "./node-folder.ts";
import { readAdapter } from "./read-adapter.ts";

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /**
   * A new adapter, `lora(…)`, or the folder of one that PEFT or hookline has saved: only it is trained, and the model's own
   * weights are a frozen base. Absent: all parameters train.
   */
  readonly adapter?: Lora | string | ModelFiles;
  /**
   * How the frozen matrices of the layers are kept on the engine. Default: `bf16` for a model whose files are, which is
   * exact, and else `float32`. `int8` and `int4` round them, in groups of 32 with a factor each.
   */
  readonly base?: BaseStorage;
}

const GENERATION = "generation_config.json";

const OPTIONS = {
  adapter: is.or(is.name, is.object),
  base: is.oneOf("float32", "bf16", "int8", "int4"),
};

/**
 * Loads the folder of a language model: config.json with model.safetensors, or its shards, in F32, F16 or BF16.
 * @example const model = await loadModel("models/SmolLM2-135M", { adapter: lora({ rank: 16 }) });
 */
export async function loadModel(from: string | ModelFiles, options: LoadModelOptions = {}): Promise<LanguageModel> {
  checkOptions("loadModel", options, OPTIONS);
  const files = await filesAt(from);
  if (!(await files.has("config.json"))) throw await noConfig(files);
  const config = await readJsonFile(files, "config.json");
  const architecture = readConfig(config, `${files.path}/config.json`);
  const matched = await matchTensors(architecture, await folderTensors(files), files.path);
  const { naming } = matched;
  const adapter = options.adapter === undefined ? undefined : await adapterOf(options.adapter, architecture, naming);
  const generation = (await files.has(GENERATION))
    ? await readJsonFile(files, GENERATION)
    : ({} as Record<string, Json>);
  return makeLanguageModel({
    architecture,
    naming,
    adapter,
    tokenizer: await tokenizerOf(files),
    generation: readGenerationDefaults(generation, config, `${files.path}/${GENERATION}`),
    source: { path: files.path, files },
    weights: matched.tensors,
    ...(adapter ? await adapted(architecture, matched, adapter, files.path, options.base) : await whole(matched)),
  });
}

const filesAt = async (from: string | ModelFiles): Promise<ModelFiles> =>
  typeof from === "string" ? nodeFolder(from) : from;

async function adapterOf(
  given: Lora | string | ModelFiles,
  architecture: Architecture,
  naming: MatchedTensors["naming"],
): Promise<Adapter> {
  if (typeof given === "object" && "options" in given) return newAdapter(given, architecture, naming);
  return readAdapter(await filesAt(given), architecture, naming);
}

/** All parameters are trained. */
async function whole({ tensors }: MatchedTensors): Promise<Pick<LanguageModel, "init">> {
  const read = await readAll(tensors);
  return { init: () => read };
}

/** An adapter is trained, beside the parameters that it takes whole; the others stay where they are. */
async function adapted(
  architecture: Architecture,
  { naming, tensors }: MatchedTensors,
  adapter: Adapter,
  path: string,
  storage: BaseStorage | undefined,
): Promise<{ readonly init: LanguageModel["init"]; readonly base: FrozenBase }> {
  const taken = new Set(adapter.whole);
  const frozen = new Map([...tensors].filter(([name]) => !taken.has(name)));
  const trained = adapter.tensors ?? (await readAll(new Map([...tensors].filter(([name]) => taken.has(name)))));
  const names = [...allMatrices(architecture, naming, () => true).keys()];
  const matrices = new Set(names.map((name) => `${name}.weight`));
  const isBf16 = [...matrices].every((name) => tensors.get(name)!.dtype === "BF16");
  return {
    init: (key) => ({
      ...initialAdapter(adapter, key),
      ...Object.fromEntries(adapter.whole.map((name) => [name, trained[name]!])),
    }),
    base: await frozenBase(path, frozen, matrices, storage ?? (isBf16 ? "bf16" : "float32")),
  };
}

/** One tensor at a time, so that there is never a second copy of the model. */
async function readAll(tensors: ReadonlyMap<string, TensorEntry>): Promise<HostTensors> {
  const read: HostTensors = {};
  for (const [name, entry] of tensors) read[name] = await readFloats(name, entry);
  return read;
}
