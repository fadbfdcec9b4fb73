// Perplexity of a language model.
import { component } from "../core/component.ts";
import type { Metric } from "../core/model.ts";
import { is } from "../core/options.ts";
import { entropySums } from "./cross-entropy.ts";
import { targetsOf } from "./targets.ts";

/** Options of `perplexity`. */
export interface PerplexityOptions {
  /** Labels with this value do not count (default −100). */
  readonly ignoreIndex?: number;
}

/** e to the mean cross-entropy over all tokens of an epoch. */
export const perplexity = /* @__PURE__ */ component(
  { kind: "metric", name: "perplexity", takes: () => ({ options: { ignoreIndex: is.whole } }) },
  (options: PerplexityOptions = {}): Metric => {
    const { ignoreIndex = -100 } = options;
    return {
      update: (outputs, batch) => entropySums("perplexity", outputs, targetsOf("perplexity", batch), ignoreIndex, 0),
      compute: ({ sum, count }) => Math.exp(sum! / count!),
    };
  },
);
