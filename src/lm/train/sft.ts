// sft: the options of a trainer that fine-tunes a language model on examples, or trains it from nothing on texts.
import { OptionError } from "../../core/errors.ts";
import type { Loader, ModelDefaults } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import type { LanguageModel } from "../model/language-model.ts";
import type { Examples } from "../text/examples/read-examples.ts";

/** Options of `sft`. */
export interface SftOptions {
  /** Rows in a batch. */
  readonly batchSize: number;
  /** Rows in a batch of an evaluation. Default `batchSize`. */
  readonly evalBatchSize?: number;
  /** Leave out the last batch of an epoch when it is not full. Default false. */
  readonly dropLast?: boolean;
}

/** What a trainer takes from `sft` and `dpo`; the optimizer and the rest are yours. */
export interface LanguageTraining extends ModelDefaults {
  readonly model: LanguageModel;
  readonly train: Loader;
  readonly eval?: Loader;
}

export const ROWS_CHECKS = { batchSize: is.wholeFrom(1), evalBatchSize: is.wholeFrom(1), dropLast: is.boolean };

/**
 * Options of a trainer for supervised fine-tuning: the loss over the labels that count, perplexity and accuracy of tokens
 * in evaluations, and the loaders of `data`. With `text` for data, it is plain pretraining.
 * @example new Trainer({ ...sft(model, data, { batchSize: 4 }), optimizer: adamw({ lr: 2e-4 }), epochs: 2 })
 */
export function sft(model: LanguageModel, data: Examples, options: SftOptions): LanguageTraining {
  checkOptions("sft", options, ROWS_CHECKS, ["batchSize"]);
  if (data.kind === "preference")
    throw new OptionError("sft: the data has preferences (`chosen`, `rejected`). `dpo` trains on them.");
  return { model, ...model.defaults, ...loadersOf(data, options) };
}

export function loadersOf(
  data: Examples,
  { batchSize, evalBatchSize = batchSize, dropLast }: SftOptions,
): Pick<LanguageTraining, "train" | "eval"> {
  const validation = data.validationLoader({ batchSize: evalBatchSize });
  const train = data.loader({ batchSize, ...(dropLast !== undefined && { dropLast }) });
  return { train, ...(validation && { eval: validation }) };
}
