// Small models that are stacks of layers.
import { numpy as np } from "hookline/jax";
import type { Model, Stack, StackLayer, Tensor, Tensors } from "hookline";
import {
  crossEntropy,
  deferredLinear,
  embedding,
  layerNorm,
  linear,
  mlp,
  residual,
  sequential,
  stack,
} from "hookline/nn";
import type { Layer } from "hookline/nn";
import { transformerBlock } from "./transformer-block.ts";

export const CLASSES = 11;
export const FEATURES = 16;

const parts = (block: Layer) => ({
  embed: embedding(CLASSES, FEATURES),
  block,
  head: sequential(layerNorm(FEATURES), deferredLinear(FEATURES, CLASSES, { bias: false })),
});

/** A language model of equal transformer blocks; `tied`, its embedding is its last layer too. */
export const gptStack = (
  count: number,
  { tied = false, block = transformerBlock(FEATURES, 2) }: { readonly tied?: boolean; readonly block?: Layer } = {},
) => stack({ ...parts(block), count, ...(tied && { tie: { "head.1.weight": "embed.weight" } }) });

export const stackLoss = () => crossEntropy({ chunk: 5 });

/** Layers of two kinds in turn, written without `stack()`; one parameter that nothing uses. */
export function twoKinds(count: number): Model<Tensor> {
  const kinds: Record<string, Layer> = {
    wide: residual(mlp({ hidden: [24], in: FEATURES, out: FEATURES, activation: "tanh" })),
    attention: transformerBlock(FEATURES, 2),
  };
  const { embed, head } = parts(kinds.wide!);
  const layers = Array.from({ length: count }, (_, i): StackLayer => {
    return { prefix: `h.${i}.`, kind: i % 2 === 0 ? "wide" : "attention" };
  });
  const named = (prefix: string, all: Tensors): Tensors =>
    Object.fromEntries(
      Object.entries(all).flatMap(([name, x]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), x.ref]] : [])),
    );
  const passes: Stack<Tensor> = {
    layers,
    embed: (params, x, ctx) => embed.apply(named("wte.", params), x, ctx) as Tensor,
    layer: (kind, params, hidden, _, ctx) => kinds[kind]!.apply(params, hidden, ctx) as Tensor,
    head: (params, hidden, ctx) => head.apply(named("last.", params), hidden, ctx) as Tensors,
  };
  return {
    init(key) {
      const make = (prefix: string, part: Model<never>) =>
        Object.entries(part.init(key.fold(prefix))).map(([name, x]) => [prefix + name, x]);
      return Object.fromEntries([
        ...make("wte.", embed),
        ...layers.flatMap(({ prefix, kind }) => make(prefix, kinds[kind]!)),
        ...make("last.", head),
        ["unused", { data: Float32Array.of(1, 2), shape: [2] }],
      ]);
    },
    apply: (params, x, ctx) => throughStack(passes, params, x, ctx, named),
    stack: passes,
  };
}

function throughStack(
  passes: Stack<Tensor>,
  params: Tensors,
  x: Tensor,
  ctx: Parameters<Model["apply"]>[2],
  named: (prefix: string, all: Tensors) => Tensors,
) {
  let hidden = passes.embed(named("", params), x.ref, ctx);
  for (const { prefix, kind } of passes.layers) hidden = passes.layer(kind, named(prefix, params), hidden, x, ctx);
  return passes.head(named("", params), hidden, ctx);
}

/** Each layer drops some of its input and multiplies the rest by one weight: the loss is linear in each weight. */
export function droppingStack(count: number, dropped: Layer): Model<Tensor, Tensor> {
  return stack({
    embed: { init: () => ({}), apply: (_, x) => x },
    block: {
      init: () => ({ weight: { data: Float32Array.of(1), shape: [] } }),
      apply: ({ weight }, x, ctx) => (dropped.apply({}, x, ctx) as Tensor).mul(weight!),
    },
    count,
    head: { init: () => ({}), apply: (_, hidden) => np.square(hidden.ref).mul(0).add(hidden) },
  });
}

/** Hidden states of the inputs' own shape, for losses over vectors. */
export const vectorStack = (count: number, size: number): Model<Tensor, Tensor> =>
  stack({
    embed: linear(size, size),
    block: residual(sequential(layerNorm(size), linear(size, size))),
    count,
    head: linear(size, size),
  });
