// loadModel: the folder of a model, as transformers saves it, becomes a model to train and to generate with.
import type { HostTensors } from "../../core/model.ts";
import { checkOptions, is, type Json } from "../../core/options.ts";
import { readGenerationDefaults } from "../config/generation-config.ts";
import { type LanguageModel, makeLanguageModel } from "../model/language-model.ts";
import { type Adapter, allMatrices, initialAdapter, isLora, type Lora, MAGNITUDE, newAdapter } from "../model/lora.ts";
import type { BaseStorage } from "../model/packed.ts";
import { strides } from "../model/parameters.ts";
import { tokenizerOf } from "../text/tokenizer.ts";
import type { TensorEntry } from "./folder-tensors.ts";
import { frozenBase, readFloats } from "./frozen-base.ts";
import { readJsonFile } from "./model-files.ts";
import { type ModelLocation, modelFiles } from "./model-source.ts";
import { openFolder, type OpenedFolder } from "./open-folder.ts";
import { readAdapter } from "./read-adapter.ts";
import type { OnProgress } from "./url-folder.ts";

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /**
   * A new adapter, `lora(…)`, or the folder of one that PEFT or hookline has saved: only it is trained, and the model's own
   * weights are a frozen base. Absent: all parameters train.
   */
  readonly adapter?: Lora | ModelLocation;
  /**
   * How the frozen matrices of the layers are kept on the engine. Default: `bf16` for a model whose files are, which is
   * exact, and else `float32`. `int8` and `int4` round them, in groups of 32 with a factor each.
   */
  readonly base?: BaseStorage;
  /** Called while files are downloaded from a URL. */
  readonly onProgress?: OnProgress;
}

const GENERATION = "generation_config.json";

const OPTIONS = {
  adapter: {
    expected: "lora(…), or the folder of an adapter",
    test: (v: unknown) => is.name.test(v) || typeof v === "object",
  },
  base: is.oneOf("float32", "bf16", "int8", "int4"),
  onProgress: is.function,
};

/**
 * Loads the folder of a language model: config.json with model.safetensors, or its shards, in F32, F16 or BF16.
 * @example const model = await loadModel("models/SmolLM2-135M", { adapter: lora({ rank: 16 }) });
 */
export async function loadModel(from: ModelLocation, options: LoadModelOptions = {}): Promise<LanguageModel> {
  checkOptions("loadModel", options, OPTIONS);
  const files = await modelFiles(from, options.onProgress);
  const folder = await openFolder(files);
  const { architecture, naming, config, tensors } = folder;
  const adapter = options.adapter === undefined ? undefined : await adapterOf(options.adapter, folder);
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
    weights: tensors,
    ...(adapter ? await adapted(folder, adapter, options.base) : await whole(folder)),
  });
}

async function adapterOf(given: Lora | ModelLocation, { architecture, naming }: OpenedFolder): Promise<Adapter> {
  if (isLora(given)) return newAdapter(given, architecture, naming);
  return readAdapter(await modelFiles(given), architecture, naming);
}

/** All parameters are trained. */
async function whole({ tensors }: OpenedFolder): Promise<Pick<LanguageModel, "init">> {
  const read = await readAll(tensors);
  return { init: () => read };
}

/** An adapter is trained, beside the parameters that it takes whole; the others stay where they are. */
async function adapted(
  folder: OpenedFolder,
  adapter: Adapter,
  storage: BaseStorage | undefined,
): Promise<Pick<LanguageModel, "init" | "base">> {
  const { architecture, naming, tensors, files } = folder;
  const taken = new Set(adapter.whole);
  const part = (isTaken: boolean): ReadonlyMap<string, TensorEntry> =>
    new Map([...tensors].filter(([name]) => taken.has(name) === isTaken));
  const trained = adapter.tensors ?? (await readAll(part(true)));
  const names = [...allMatrices(architecture, naming, () => true).keys()];
  const matrices = new Set(names.map((name) => `${name}.weight`));
  const lengths = adapter.config.dora && !adapter.tensors ? await rowLengths(adapter, folder) : {};
  const isBf16 = [...matrices].every((name) => tensors.get(name)!.dtype === "BF16");
  return {
    init: (key) => ({
      ...initialAdapter(adapter, key, lengths),
      ...Object.fromEntries(adapter.whole.map((name) => [name, trained[name]!])),
    }),
    base: await frozenBase(files.path, part(false), matrices, storage ?? (isBf16 ? "bf16" : "float32")),
  };
}

/** What DoRA begins with: how long the rows of the adapted matrices are in the files. */
async function rowLengths(
  { matrices }: Adapter,
  { architecture, tensors }: Pick<OpenedFolder, "architecture" | "tensors">,
): Promise<HostTensors> {
  const lengths: HostTensors = {};
  for (const [name, matrix] of matrices) {
    const { data } = await readFloats(`${name}.weight`, tensors.get(`${name}.weight`)!);
    const [rowStep, columnStep] = strides(architecture, matrix);
    const length = (row: number): number => {
      let sum = 0;
      for (let i = 0; i < matrix.inputs; i++) sum += data[row * rowStep + i * columnStep]! ** 2;
      return Math.sqrt(sum);
    };
    lengths[`${name}.${MAGNITUDE}`] = {
      data: Float32Array.from({ length: matrix.outputs }, (_, row) => length(row)),
      shape: [matrix.outputs],
    };
  }
  return lengths;
}

/** One tensor at a time, so that there is never a second copy of the model. */
async function readAll(tensors: ReadonlyMap<string, TensorEntry>): Promise<HostTensors> {
  const read: HostTensors = {};
  for (const [name, entry] of tensors) read[name] = await readFloats(name, entry);
  return read;
}
