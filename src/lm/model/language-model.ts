// A language model as the trainer, generation and saving see it.
import { CheckpointError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import type {
  HostTensors,
  InitKey,
  Model,
  ModelDefaults,
  Outputs,
  Stack,
  Tensor,
  TensorBatch,
  Tensors,
} from "../../core/model.ts";
import type { FileDType, FileTensor } from "../../checkpoint/formats/tensor.ts";
import type { ModelFiles } from "../load/model-files.ts";
import type { Architecture } from "../config/architecture.ts";
import type { GenerationDefaults } from "../config/generation-config.ts";
import { readGenerationDefaults } from "../config/generation-config.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { Decoder } from "./decoder.ts";
import type { DecodeCache, KeyValues } from "./key-values.ts";
import { languageDefaults } from "./training-defaults.ts";
import { type Adapter, type LoraConfig, trainedNames } from "./lora.ts";
import { DESCRIBE_CHECKS, describeModel, type DescribeOptions } from "./memory.ts";
import { initialValues, type Naming, namingOf, parametersOf } from "./parameters.ts";

/** Where a model comes from. */
export interface ModelSource {
  /** The folder or address, for messages and model cards; undefined for a model that was made in memory. */
  readonly path: string | undefined;
  /** Its folder, if it has one. */
  readonly files: ModelFiles | undefined;
}

/** A decoder-only language model: a model to train, whose inputs are `{ ids, positions?, segments? }`. */
export interface LanguageModel extends Model<TensorBatch, Outputs> {
  readonly architecture: Architecture;
  /** An error where there is none, or where the packages that it needs are missing. */
  readonly tokenizer: Tokenizer;
  /** How its authors generate with it. */
  readonly generation: GenerationDefaults;
  readonly source: ModelSource;
  /** What is trained, where that is an adapter; then the model's own weights are its `base`. */
  readonly adapter: LoraConfig | undefined;
  /** Its layers, for plans that compute one at a time. */
  readonly stack: Stack;
  /** Cross-entropy of the next token, perplexity and the accuracy of tokens. */
  readonly defaults: ModelDefaults;
  /** Its size, and what training it takes in memory. */
  describe(options?: DescribeOptions): string;
  /**
   * The forward pass with a cache of keys and values: `ids` [batch, time] go into each row's slots from
   * `cache.starts` on, and see all before them. Prompts of different lengths are padded behind: what follows overwrites it. Returns what `logits` takes, [batch, time, width], and the cache with them in it. Keeps `params`, and
   * consumes the other arrays.
   */
  decode(params: Tensors, ids: Tensor, cache: DecodeCache): { hidden: Tensor; cache: KeyValues[] };
  /** Logits [..., vocabulary] of hidden states, all of them or some rows. Keeps `params`, and consumes `hidden`. */
  logits(params: Tensors, hidden: Tensor): Tensor;
}

/** What a language model is made of, besides its architecture. */
export interface LanguageModelParts {
  /** Its weights, by the names of transformers. Absent: random ones. */
  readonly tensors?: HostTensors;
  readonly tokenizer?: Tokenizer;
  readonly generation?: GenerationDefaults;
}

const PARTS = { tensors: is.object, tokenizer: is.object, generation: is.object };

/**
 * A language model in memory: with weights that you have, or with random ones, to train it from nothing.
 * @example const model = languageModel(architectureOf({ model_type: "llama", vocab_size: 512, hidden_size: 64, … }));
 */
export function languageModel(architecture: Architecture, given: LanguageModelParts = {}): LanguageModel {
  checkOptions("languageModel", given, PARTS);
  const { tensors, tokenizer, generation } = given;
  if (tensors) checkTensors(architecture, tensors);
  return makeLanguageModel({
    architecture,
    tokenizer: () => {
      if (tokenizer) return tokenizer;
      throw new CheckpointError("languageModel", "the model was made without a tokenizer", "Give it one: `tokenizer`.");
    },
    generation: generation ?? readGenerationDefaults({}, architecture.config, "the config"),
    source: { path: undefined, files: undefined },
    init: (key) => tensors ?? initialWeights(architecture, namingOf(architecture), key),
  });
}

/** Names and shapes must be the architecture's. */
function checkTensors(architecture: Architecture, tensors: HostTensors): void {
  const expected = parametersOf(architecture, namingOf(architecture));
  for (const [name, { shape }] of expected) {
    const found = tensors[name]?.shape;
    if (found?.join() === shape.join()) continue;
    const reason = found
      ? `tensor \`${name}\` is [${found.join(", ")}], but the architecture has [${shape.join(", ")}]`
      : `tensor \`${name}\` is missing`;
    throw new CheckpointError("languageModel", reason, "Give all tensors of the architecture.");
  }
  const extra = Object.keys(tensors).find((name) => !expected.has(name));
  if (extra !== undefined)
    throw new CheckpointError(
      "languageModel",
      `the architecture has no tensor \`${extra}\``,
      "Leave it out, or correct the config.",
    );
}

/** Random weights. */
const initialWeights = (architecture: Architecture, naming: Naming, key: InitKey): HostTensors => {
  const all = [...parametersOf(architecture, naming)];
  return Object.fromEntries(all.map(([name, parameter]) => [name, initialValues(name, parameter, key)]));
};

/** A tensor of the model's own weights, as its files have it. */
interface WeightSource {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  read(): Promise<FileTensor>;
}

interface Made extends Pick<LanguageModel, "architecture" | "generation" | "source" | "init" | "base"> {
  /** By default the names of transformers. */
  readonly naming?: Naming;
  readonly adapter?: Adapter | undefined;
  /** Its weights without an adapter, in the order of the forward pass; undefined for a model that was made in memory. */
  readonly weights?: ReadonlyMap<string, WeightSource>;
  readonly tokenizer: () => Tokenizer;
}

/** What saving needs of a model. */
export interface ModelParts {
  readonly naming: Naming;
  readonly adapter: Adapter | undefined;
  readonly weights: ReadonlyMap<string, WeightSource> | undefined;
}

const parts = new WeakMap<object, ModelParts>();

/** Undefined for a model that is not of hookline/lm. */
export const partsOf = (model: object): ModelParts | undefined => parts.get(model);

export function makeLanguageModel(made: Made): LanguageModel {
  const { architecture, naming = namingOf(architecture), adapter, generation, source, base } = made;
  const decoder = new Decoder(architecture, naming, adapter?.config, adapter && trainedNames(adapter));
  const model: LanguageModel = {
    architecture,
    generation,
    source,
    adapter: adapter?.config,
    ...(base && { base }),
    get tokenizer() {
      return made.tokenizer();
    },
    stack: decoder,
    defaults: languageDefaults(),
    describe(options = {}) {
      checkOptions("describe", options, DESCRIBE_CHECKS);
      return describeModel(architecture, naming, adapter, base, options);
    },
    init: made.init,
    apply: (params, inputs, ctx) => decoder.apply(params, inputs, ctx),
    decode: (params, ids, cache) => decoder.decode(params, ids, cache),
    logits: (params, hidden) => decoder.logits(params, hidden),
  };
  parts.set(model, { naming, adapter, weights: made.weights });
  return model;
}
