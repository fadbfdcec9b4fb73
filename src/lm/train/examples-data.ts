// The data of an experiment whose model is a language model: rows are made once the model, and with it the tokenizer, is there.
import { OptionError } from "../../core/errors.ts";
import type { Loader } from "../../core/model.ts";
import type { ExamplesOptions } from "../config-components.ts";
import type { LanguageModel } from "../model/language-model.ts";
import type { ReadExamplesOptions } from "../text/examples/options.ts";
import { type Examples, readExamples } from "../text/examples/read-examples.ts";
import { loadersOf, ROWS_CHECKS } from "./sft.ts";
import { checkOptions } from "../../core/options.ts";

/** A file of examples, read for a model. */
export class ExamplesData {
  readonly #options: ExamplesOptions;
  #read: { readonly model: object; readonly examples: Promise<Examples> } | undefined;

  constructor(options: ExamplesOptions) {
    this.#options = options;
  }

  /** Reads the file, once for a model. */
  async examplesFor(model: LanguageModel, onProgress?: ReadExamplesOptions["onProgress"]): Promise<Examples> {
    const { file, ...options } = this.#options;
    if (this.#read?.model !== model) {
      const all = { ...options, ...(onProgress && { onProgress }) };
      this.#read = { model, examples: readExamples(file, model, all) };
    }
    return this.#read.examples;
  }

  /** The loaders of an experiment. */
  async loadersFor(model: object, given: object): Promise<{ readonly train: Loader; readonly eval?: Loader }> {
    if (!isLanguageModel(model))
      throw new OptionError("examples: only a language model trains on them: model: { use: lm, from: … }.");
    // Training rows are shuffled, and validation rows are not.
    const { shuffle: _always, ...options } = given as { shuffle?: boolean; batchSize: number };
    checkOptions("loader", options, ROWS_CHECKS, ["batchSize"]);
    const examples = await this.examplesFor(model);
    if (examples.kind === "preference")
      throw new OptionError(
        "examples: the file has preferences (`chosen`, `rejected`), which `dpo` trains on, in code.",
      );
    return loadersOf(examples, options);
  }
}

const isLanguageModel = (model: object): model is LanguageModel => "tokenizer" in model && "architecture" in model;
