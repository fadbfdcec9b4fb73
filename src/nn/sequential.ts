// Layers one after another.
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import type { Tensor } from "../core/model.ts";
import { is, listOrNamed, show } from "../core/options.ts";
import { block } from "./block.ts";
import type { Layer } from "./layer.ts";

/**
 * Each layer's output is the next one's input. Parameters are named by position, `0.weight`, `2.bias`, as in
 * PyTorch, or by the names you give.
 * @example sequential(linear(784, 256), relu(), linear(256, 10))
 * @example sequential({ fc1: linear(784, 256), act: relu(), fc2: linear(256, 10) })
 */
export const sequential = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "sequential",
    takes: () => ({ args: { layers: { ...is.anything, holds: listOrNamed("model") } }, spread: true }),
  },
  makeSequential,
);

function makeSequential(...layers: readonly Layer[]): Layer;
function makeSequential(layers: Readonly<Record<string, Layer>>): Layer;
function makeSequential(...args: readonly (Layer | Readonly<Record<string, Layer>>)[]): Layer {
  const [first] = args;
  if (Array.isArray(first)) {
    throw new OptionError(
      `sequential: Expected layers as arguments, got an array. Spread it: sequential(...layers), or list them: sequential(linear(784, 10), relu()).`,
    );
  }
  const named = args.length === 1 && typeof first === "object" && typeof first.apply !== "function";
  const layers = named
    ? (first as Readonly<Record<string, Layer>>)
    : (Object.fromEntries(args.entries()) as Record<string, Layer>);
  for (const [name, layer] of Object.entries(layers)) {
    // A function has an `apply` as well.
    if (typeof layer === "object" && typeof layer?.apply === "function") continue;
    const call = typeof layer === "function" ? " Is it to be called, as in relu()?" : "";
    throw new OptionError(`sequential: Expected layer \`${name}\` to be a layer, got ${show(layer)}.${call}`);
  }
  return block(layers, (calls, x: Tensor) => Object.keys(layers).reduce((h, name) => calls[name]!(h), x));
}
