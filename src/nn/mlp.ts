// mlp: fully connected layers, the usual model for the columns of a table.
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import { is } from "../core/options.ts";
import { gelu, relu, silu, tanh } from "./activations.ts";
import { dropout, linear } from "./basic.ts";
import { sequential } from "./block.ts";
import type { Layer } from "./layer.ts";

const ACTIVATIONS = { relu, gelu, silu, tanh } as const;

/** Options of `mlp`. */
export interface MlpOptions {
  /** The widths of the layers between input and output, such as [64, 32]; [] is a linear model. */
  readonly hidden: readonly number[];
  /** After each hidden layer: relu (default), gelu, silu or tanh. */
  readonly activation?: keyof typeof ACTIVATIONS;
  /** The share of values that is dropped after each hidden layer while training (default 0). */
  readonly dropout?: number;
  /** The width of the input. Default, in an experiment: the number of features that `preprocess` makes. */
  readonly in?: number;
  /** The width of the output. Default, in an experiment: one for each class of the target, or 1 for a number. */
  readonly out?: number;
}

/** What an experiment knows about its data, as far as a model of it needs that. */
export interface MlpSetup {
  readonly preprocessor?: { readonly width: number; readonly outputWidth: number | undefined };
}

/**
 * Fully connected layers with an activation between them. In an experiment with `preprocess`, `in` and `out` follow from
 * the data: `mlp` without them is a function of the setup, which the experiment calls.
 * @example mlp({ hidden: [64, 32], dropout: 0.1 })
 */
export const mlp = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "mlp",
    takes: () => ({
      options: {
        hidden: is.arrayOf(is.wholeFrom(1)),
        activation: is.oneOf(...Object.keys(ACTIVATIONS)),
        dropout: is.fraction,
        in: is.wholeFrom(1),
        out: is.wholeFrom(1),
      },
      required: ["hidden"],
    }),
  },
  makeMlp,
);

function makeMlp(options: MlpOptions & { readonly in: number; readonly out: number }): Layer;
function makeMlp(options: MlpOptions): (setup: MlpSetup) => Layer;
function makeMlp(options: MlpOptions): Layer | ((setup: MlpSetup) => Layer) {
  const { in: given, out } = options;
  if (given !== undefined && out !== undefined) return layersOf(options, given, out);
  return function mlp({ preprocessor }: MlpSetup): Layer {
    const width = given ?? preprocessor?.width;
    const outputs = out ?? preprocessor?.outputWidth;
    if (width !== undefined && outputs !== undefined) return layersOf(options, width, outputs);
    const missing = width === undefined ? "in" : "out";
    const source = missing === "in" ? "`preprocess`" : "a target in `preprocess`";
    throw new OptionError(`mlp: missing option \`${missing}\`: without ${source} the data does not say it.`, {
      option: missing,
    });
  };
}

function layersOf({ hidden, activation = "relu", dropout: share = 0 }: MlpOptions, width: number, out: number): Layer {
  const widths = [width, ...hidden];
  const inner = hidden.flatMap((size, i) => [
    linear(widths[i]!, size),
    ACTIVATIONS[activation](),
    ...(share > 0 ? [dropout(share)] : []),
  ]);
  return sequential(...inner, linear(widths.at(-1)!, out));
}
