// Rematerialisation: a layer whose inner activations are not kept for the backward pass, but computed again there.
import { jvp } from "@jax-js/jax";
import { component } from "../core/component.ts";
import {
  isTensor,
  type ApplyContext,
  type KeyStream,
  type Model,
  type Outputs,
  type Tensor,
  type Tensors,
} from "../core/model.ts";
import { is, one } from "../core/options.ts";
import { differentiated } from "./derivatives.ts";
import { visitIndices } from "./indices.ts";
import { currentLowering, marked, recomputationBegins, recomputationEnds } from "./marks.ts";
import { visitPoints } from "./tap.ts";

/** Recomputations around the one that is being traced. */
let depth = 0;

/**
 * The same layer, which keeps only its inputs for the backward pass and computes everything else again there: a deep model
 * of such layers needs the memory of one, and about a third more time. On the engines native and xla; on wasm and webgpu
 * it is the layer as it is. Parameter names stay those of `inner`.
 * @example remat(transformerBlock(768, 12))
 */
export const remat = /* @__PURE__ */ component(
  { kind: "model", name: "remat", takes: () => ({ args: { inner: { ...is.object, holds: one("model") } } }) },
  <In extends Outputs, Out extends Outputs>(inner: Model<In, Out>): Model<In, Out> => ({
    ...inner,
    apply: (params, inputs, ctx) =>
      currentLowering() ? rematerialized(inner, params, inputs, ctx) : inner.apply(params, inputs, ctx),
  }),
);

function rematerialized<In extends Outputs, Out extends Outputs>(
  inner: Model<In, Out>,
  params: Tensors,
  inputs: In,
  ctx: ApplyContext,
): Out | [Out, Tensors] {
  const names = Object.keys(params);
  const open = differentiated([...Object.values(params), ...leavesOf(inputs)]);
  if (!open) return inner.apply(params, inputs, ctx);
  const run = (arrays: readonly Tensor[], context: ApplyContext): [Out, Tensors] => {
    const weights = Object.fromEntries(names.map((name, i) => [name, arrays[i]!]));
    const result = inner.apply(weights, rebuilt(inputs, arrays.slice(names.length)), context);
    return inner.initState ? (result as [Out, Tensors]) : [result as Out, {}];
  };

  const state = Object.fromEntries(Object.entries(ctx.state).map(([name, buffer]) => [name, buffer.ref]));
  const drawn: Tensor[] = [];
  const firstKeys: KeyStream = {
    next() {
      const key = ctx.key.next();
      drawn.push(key.ref);
      return key;
    },
  };
  const kept = open.primals.map((x) => x.ref);
  const [outputs, next] = run(kept, { ...ctx, key: firstKeys });

  const begin = (x: Tensor): Tensor => marked(x, recomputationBegins(depth));
  // Parameters are in memory anyway.
  const primals = open.primals.map((x, i) => (i < names.length ? x : begin(x)));
  const keys = drawn.map(begin);
  const again: ApplyContext = { ...ctx, state, key: { next: () => keys.shift()! } };
  const isMoving = (_: unknown, i: number): boolean => open.tangents[i] !== undefined;
  const results = (...moved: Tensor[]): Tensor[] => {
    const arrays = primals.map((x, i) => (isMoving(x, i) ? moved.shift()! : x));
    return leavesOf(run(arrays, again)[0]);
  };
  const [, tangents] = recompute(() =>
    (jvp as unknown as Jvp)(results, primals.filter(isMoving), open.tangents.filter(isMoving) as Tensor[]),
  );
  const joined = leavesOf(outputs).map((y, i) => open.join(marked(y, recomputationEnds(depth)), tangents[i]!));
  const all = rebuilt(outputs, joined);
  return inner.initState ? [all, next] : all;
}

type Jvp = (fn: (...xs: Tensor[]) => Tensor[], primals: Tensor[], tangents: Tensor[]) => [Tensor[], Tensor[]];

/** Probes and checks of indices have seen the first computation. */
function recompute<T>(trace: () => T): T {
  depth++;
  try {
    const unseen = (): T => visitIndices(() => {}, trace);
    return visitPoints((_, x) => x, unseen);
  } finally {
    depth--;
  }
}

const leavesOf = (value: Outputs): Tensor[] => (isTensor(value) ? [value] : Object.values(value));

/** The arrays in the structure of `like`. */
const rebuilt = <T extends Outputs>(like: T, arrays: readonly Tensor[]): T =>
  (isTensor(like) ? arrays[0]! : Object.fromEntries(Object.keys(like).map((name, i) => [name, arrays[i]!]))) as T;
