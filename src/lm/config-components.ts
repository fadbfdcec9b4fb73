// What a config names of hookline/lm: the model `lm`, the data `examples` and the hook `sampleText`. What they are made of
// is loaded when used.
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import { type Check, checkOptions, is } from "../core/options.ts";
import type { ExamplesData } from "./train/examples-data.ts";
import type { LanguageModel } from "./model/language-model.ts";
import { LORA_CHECKS, type LoraOptions } from "./model/lora-options.ts";
import type { BaseStorage } from "./model/packed.ts";
import { EXAMPLES_CHECKS, type RowOptions } from "./text/examples/options.ts";

export { sampleText } from "./generate/sample-text.ts";

/** Options of the model `lm`. */
export interface LmOptions {
  /** The folder of the model, as transformers saves it. In a config: relative to the config, and inside its project. */
  readonly from: string;
  /** Trains an adapter of low rank, and not the model: the options of `lora`. Absent: all parameters train. */
  readonly lora?: LoraOptions;
  /** Trains an adapter further: the folder of one that PEFT or hookline has saved. */
  readonly adapter?: string;
  /** How frozen matrices are kept: "float32", "bf16", "int8" or "int4". Default: bf16 where the files have that, else float32. */
  readonly base?: BaseStorage;
}

const isLora = (): Check => ({
  expected: "options such as { rank: 16 }",
  schema: {
    type: "object",
    properties: Object.fromEntries(Object.entries(LORA_CHECKS).map(([name, { schema = {} }]) => [name, schema])),
    additionalProperties: false,
  },
  test: (value) => {
    if (!is.object.test(value)) return false;
    checkOptions("lora", value, LORA_CHECKS);
    return true;
  },
});

/**
 * A pretrained language model from its folder; `loadModel` in code. It brings its loss, its metrics and its inputs with it,
 * and is trained on the data `examples`.
 */
export const lm = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "lm",
    takes: () => ({
      options: {
        from: is.pathToRead,
        lora: isLora(),
        adapter: is.pathToRead,
        base: is.oneOf("float32", "bf16", "int8", "int4"),
      },
      required: ["from"],
    }),
  },
  async (options: LmOptions): Promise<LanguageModel> => {
    const { from, lora: adapted, base } = options;
    if (adapted && options.adapter !== undefined)
      throw new OptionError("lm: `lora` makes a new adapter and `adapter` reads one: give one of them.");
    const [{ loadModel }, { lora }] = await Promise.all([import("./load/load-model.ts"), import("./model/lora.ts")]);
    const adapter = adapted ? lora(adapted) : options.adapter;
    return loadModel(from, { ...(adapter !== undefined && { adapter }), ...(base && { base }) });
  },
);

/** Options of the data `examples`. */
export interface ExamplesOptions extends RowOptions {
  /** JSON lines. In a config: relative to the config, and inside its project. */
  readonly file: string;
}

/**
 * Conversations, prompts with completions, or texts to train a language model on; `readExamples` in code. The model's
 * tokenizer makes rows of them.
 */
export const examples = /* @__PURE__ */ component(
  {
    kind: "data",
    name: "examples",
    takes: () => ({
      options: {
        file: is.pathToRead,
        ...EXAMPLES_CHECKS,
      },
      required: ["file"],
    }),
  },
  (options: ExamplesOptions): (() => Promise<ExamplesData>) =>
    async () =>
      new (await import("./train/examples-data.ts")).ExamplesData(options),
);
