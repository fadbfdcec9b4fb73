// Which parameters belong to which layer of a stack, and which to its embedding and head.
import { makeJaxpr, numpy as np } from "@jax-js/jax";
import type { StackLayer, Tensor, Tensors } from "../../core/model.ts";
import type { Buffers } from "../device-state.ts";

/** A name in the model, and the name that the layer knows. */
export interface LayerName {
  readonly whole: string;
  readonly own: string;
}

/** Names by layer, in their order; `rest` are those of embedding and head. */
export interface Division {
  readonly layers: readonly (readonly LayerName[])[];
  readonly rest: readonly string[];
}

export function divide(layers: readonly StackLayer[], names: readonly string[]): Division {
  const parts = new Map(layers.map(({ prefix }) => [prefix, [] as LayerName[]]));
  const rest: string[] = [];
  for (const whole of names) {
    const prefix = prefixOf(whole, parts);
    if (prefix === undefined) rest.push(whole);
    else parts.get(prefix)!.push({ whole, own: whole.slice(prefix.length) });
  }
  return { layers: [...parts.values()], rest };
}

/** The layer's prefix that a name begins with. */
function prefixOf(name: string, parts: ReadonlyMap<string, unknown>): string | undefined {
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const prefix = name.slice(0, dot + 1);
    if (parts.has(prefix)) return prefix;
  }
  return undefined;
}

/** The names of each layer, and those outside as one more part. */
export function partsOf(layers: readonly StackLayer[], names: readonly string[]): (readonly LayerName[])[] {
  const { layers: parts, rest } = divide(layers, names);
  return [...parts, rest.map((whole) => ({ whole, own: whole }))].filter((part) => part.length > 0);
}

/** A layer's arrays by the names that it knows. */
export function ownOf<T>(names: readonly LayerName[], all: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(names.map(({ whole, own }) => [own, all[whole]!]));
}

/** A layer's arrays by the names of the model. */
export function wholeOf<T>(names: readonly LayerName[], own: Readonly<Record<string, T>>): [string, T][] {
  return names.map(({ whole, own: name }) => [whole, own[name]!]);
}

interface Jaxpr {
  readonly inBinders: readonly object[];
  readonly eqns: readonly { readonly inputs: readonly object[] }[];
  readonly outs: readonly object[];
  flatten(): Jaxpr;
  simplify(): Jaxpr;
}

/** Those of the buffers that a function computes with: it is traced with arrays that nobody computes. */
export function usedBy(buffers: Buffers, fn: (params: Tensors) => Tensor): string[] {
  const names = Object.keys(buffers);
  const standIns = names.map((name) => standIn(buffers[name]!));
  const listed = (...arrays: Tensor[]): Tensor => fn(Object.fromEntries(names.map((name, i) => [name, arrays[i]!])));
  const made = (makeJaxpr(listed as never) as (...args: Tensor[]) => unknown)(...standIns) as {
    readonly jaxpr: { readonly jaxpr: Jaxpr; dispose(): void };
  };
  const { inBinders, eqns, outs } = made.jaxpr.jaxpr.flatten().simplify();
  made.jaxpr.dispose();
  const used = new Set([...eqns.flatMap(({ inputs }) => inputs), ...outs]);
  // Constants come first.
  const binders = inBinders.slice(inBinders.length - names.length);
  return names.filter((_, i) => used.has(binders[i]!));
}

export const standIn = ({ shape, dtype }: Buffers[string]): Tensor => np.zeros([...shape], { dtype: dtype as never });
