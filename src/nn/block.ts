// Models made of models: `block`, `sequential` and `residual`.
import type { HostArray } from "../core/arrays.ts";
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import type { ApplyContext, HostTensors, InitKey, Model, Outputs, Tensor, Tensors } from "../core/model.ts";
import { is, listOrNamed, named, one, show } from "../core/options.ts";
import { tap, tapChild } from "./tap.ts";
import type { Layer } from "./layer.ts";

/** A part of a block: a model, or the initial value of a parameter of the block's own. */
export type Child = Model<never, Outputs> | ((key: InitKey) => HostArray);

/** What `forward` gets for each child: a function. Several calls share the child's parameters. */
export type Calls<Children> = {
  readonly [Name in keyof Children]: Children[Name] extends Model<infer In, infer Out>
    ? (inputs: In) => Out
    : () => Tensor;
};

/**
 * A model from named children. Parameter names are `child.name`, and nest: `blocks.0.attn.in_proj_weight`. What a child
 * returns is a point for probes under its path: `blocks.0.attn`.
 * @example
 * const transformerBlock = (d: number, heads: number) =>
 *   block(
 *     { ln1: layerNorm(d), attn: multiHeadAttention(d, heads), ln2: layerNorm(d), mlp: mlp(d) },
 *     ({ ln1, attn, ln2, mlp }, x: Tensor) => {
 *       const h = x.ref.add(attn(ln1(x)));
 *       return h.ref.add(mlp(ln2(h)));
 *     },
 *   );
 */
export const block = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "block",
    takes: () => ({ args: { children: { ...is.object, holds: named("model") }, forward: is.function } }),
  },
  <Children extends Readonly<Record<string, Child>>, In, Out extends Outputs>(
    children: Children,
    forward: (calls: Calls<Children>, inputs: In, ctx: ApplyContext) => Out,
  ): Model<In, Out> => {
    const parts = Object.entries<Child>(children);
    for (const [name, part] of parts) checkChild(name, part);
    const stateful = parts.some(([, part]) => typeof part !== "function" && typeof part.initState === "function");
    return {
      init: (key) =>
        merge(parts, (name, part) =>
          typeof part === "function" ? { [name]: part(key.fold(name)) } : prefix(name, part.init(key.fold(name))),
        ),
      ...(stateful && {
        initState: () =>
          merge(parts, (name, part) => (typeof part === "function" ? {} : prefix(name, part.initState?.() ?? {}))),
      }),
      apply(params, inputs, ctx) {
        const state = { ...ctx.state };
        const calls = Object.fromEntries(
          parts.map(([name, part]) => [
            name,
            typeof part === "function"
              ? () => params[name]!.ref
              : (x: never) => tapChild(name, () => call(part, name, params, state, x, ctx)),
          ]),
        ) as Calls<Children>;
        const outputs = forward(calls, inputs, ctx);
        // Every call has taken its own references.
        for (const param of Object.values(params)) param.dispose();
        return stateful ? [outputs, state] : outputs;
      },
    };
  },
);

function checkChild(name: string, part: Child): void {
  const isModel = typeof part === "function" || typeof (part as Partial<Model>)?.apply === "function";
  if (!isModel) throw new OptionError(`block: Expected \`${name}\` to be a model, got ${show(part)}`);
  if (name === "" || name.includes("."))
    throw new OptionError(`block: Expected a child's name without dots, got ${JSON.stringify(name)}`);
}

/** Applies one child to its own parameters and state; later calls see the new state. */
function call(part: Model<never>, name: string, params: Tensors, state: Tensors, inputs: never, ctx: ApplyContext) {
  const own = select(name, params, (param) => param.ref);
  const result = part.apply(own, inputs, { ...ctx, state: select(name, state, (buffer) => buffer) });
  if (!part.initState) return result as Outputs;
  const [outputs, next] = result as [Outputs, Tensors];
  Object.assign(state, prefix(name, next));
  return outputs;
}

export function select(name: string, from: Tensors, take: (tensor: Tensor) => Tensor): Tensors {
  const start = `${name}.`;
  const own = Object.entries(from).filter(([key]) => key.startsWith(start));
  return Object.fromEntries(own.map(([key, tensor]) => [key.slice(start.length), take(tensor)]));
}

export const prefix = <T>(name: string, values: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`${name}.${key}`, value]));

const merge = (parts: readonly [string, Child][], values: (name: string, part: Child) => HostTensors): HostTensors =>
  Object.assign({}, ...parts.map(([name, part]) => values(name, part))) as HostTensors;

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
/** The last one may have other outputs, such as deferred logits. */
function makeSequential<Out extends Outputs>(...layers: readonly [...Layer[], Model<Tensor, Out>]): Model<Tensor, Out>;
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
    // Functions have an `apply` too.
    if (typeof layer === "object" && typeof layer?.apply === "function") continue;
    const call = typeof layer === "function" ? " Is it to be called, as in relu()?" : "";
    throw new OptionError(`sequential: Expected layer \`${name}\` to be a layer, got ${show(layer)}.${call}`);
  }
  return block(layers, (calls, x: Tensor) => Object.keys(layers).reduce((h, name) => calls[name]!(h), x));
}

/** A residual connection, x + inner(x). Parameter names stay those of `inner`; probes see its output as `branch`. */
export const residual = /* @__PURE__ */ component(
  { kind: "model", name: "residual", takes: () => ({ args: { inner: { ...is.object, holds: one("model") } } }) },
  (inner: Layer): Layer => {
    return {
      ...inner,
      apply(params, x, ctx) {
        const result = inner.apply(params, x.ref, ctx);
        if (!Array.isArray(result)) return x.add(tap("branch", result));
        const [y, state] = result;
        return [x.add(tap("branch", y)), state];
      },
    };
  },
);
