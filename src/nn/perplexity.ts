// Perplexity of a language model.
import type { Metric } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { entropySums } from "./cross-entropy.ts";
import { targetsOf } from "./targets.ts";

/** Options of `perplexity`. */
export interface PerplexityOptions {
  /** Labels with this value do not count (default −100). */
  readonly ignoreIndex?: number;
}

/** e to the mean cross-entropy over all tokens of an epoch. */
export function perplexity(options: PerplexityOptions = {}): Metric {
  checkOptions("perplexity", options, { ignoreIndex: is.whole });
  const { ignoreIndex = -100 } = options;
  return {
    update: (outputs, batch) => entropySums("perplexity", outputs, targetsOf("perplexity", batch), ignoreIndex, 0),
    compute: ({ sum, count }) => Math.exp(sum! / count!),
  };
}
