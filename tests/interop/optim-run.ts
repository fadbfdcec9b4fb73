// Runs an optimizer on one parameter with given gradients, the way a trainer does: one compiled program, scalars as inputs.
import { defaultDevice, init, jit, numpy as np } from "@jax-js/jax";
import type { Tensor, Tensors } from "../../src/core/model.ts";
import type { GroupValues, Optimizer } from "../../src/core/optimizer.ts";

export const initial = [1, -2, 0.5, 0, 3, -0.25];

/** Gradients of ten steps: of both signs, with zeros, over several magnitudes. */
export const gradients: readonly (readonly number[])[] = Array.from({ length: 10 }, (_, t) =>
  initial.map((_, i) => (i === 3 && t % 2 === 0 ? 0 : Math.sin(1 + t * 1.7 + i * 2.3) * 10 ** ((i % 3) - 1))),
);

const scalars = (values: Record<string, number>): Tensors =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, np.array(value, { dtype: np.float32 })]));

/** The parameter after all steps; `values` of step `t` come from `at` (default: the optimizer's own). */
export async function runOptimizer(
  optimizer: Optimizer,
  at: (t: number) => GroupValues = () => ({ ...optimizer.defaults }),
): Promise<{ param: number[]; slots: Record<string, number[]>; traces: number }> {
  await init("wasm");
  defaultDevice("wasm");
  let traces = 0;
  const update = jit((p: Tensor, g: Tensor, slots: Tensors, h: Tensors) => {
    traces++;
    return optimizer.leaf(p, g, slots, h);
  });
  let p: Tensor = np.array(initial);
  let slots: Tensors = Object.fromEntries(optimizer.slots.map((name) => [name, np.zeros([initial.length])]));
  for (const [i, g] of gradients.entries()) {
    [p, slots] = update(p, np.array([...g]), slots, scalars(optimizer.hyper(at(i + 1), i + 1)));
    p.ref.dataSync();
  }
  const read = (x: Tensor): number[] => Array.from(x.dataSync());
  return { param: read(p), slots: Object.fromEntries(Object.entries(slots).map(([k, v]) => [k, read(v)])), traces };
}

/** The largest difference relative to the size of the numbers. */
export function relativeError(actual: readonly number[], expected: readonly number[]): number {
  return Math.max(...expected.map((e, i) => Math.abs(actual[i]! - e) / Math.max(1e-2, Math.abs(e))));
}

/** Applies a plain float64 rule elementwise over the same gradients: the reference. */
export function reference<S>(start: () => S, rule: (p: number, g: number, state: S, t: number) => number): number[] {
  return initial.map((p0, i) => {
    const state = start();
    return gradients.reduce((p, g, t) => rule(p, g[i]!, state, t + 1), p0);
  });
}
