// The two halves of a graph compute what the whole one does, and the second does none of the first one's products again.
import { grad, init, nn, numpy as np, random, type Array as JaxArray } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { runGraph } from "../../../tests/support/run-graph.ts";
import { cutGraph } from "./cut.ts";
import type { Graph } from "./graph.ts";
import { lower } from "./lower.ts";
import { trace, type Aval } from "./trace.ts";

beforeAll(async () => void (await init("wasm")));

const f32 = (...shape: number[]): Aval => ({ shape, dtype: "float32" });
const sample = ({ shape }: Aval, salt: number): Float32Array =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i * 12.9898 + salt));

const count = ({ nodes }: Graph, op: string): number => nodes.filter((node) => node.op === op).length;

/** A network's loss, and its gradient times a number that only the gradient needs. */
function lossAndGradient(forward: (w: JaxArray, v: JaxArray, x: JaxArray) => JaxArray) {
  return (w: JaxArray, v: JaxArray, x: JaxArray, scale: JaxArray): JaxArray[] => {
    const loss = forward(w.ref, v.ref, x.ref);
    const gradient = grad((p: { w: JaxArray; v: JaxArray }) => forward(p.w, p.v, x).mul(scale))({ w, v });
    return [loss, gradient.w, gradient.v];
  };
}

const avals = [f32(6, 5), f32(4, 6), f32(3, 5), f32()];

const networks: Record<string, (w: JaxArray, v: JaxArray, x: JaxArray) => JaxArray> = {
  tanh: (w, v, x) => np.square(np.matmul(np.tanh(np.matmul(x, w.transpose())), v.transpose())).mean(),
  softmax: (w, v, x) =>
    np
      .log(nn.softmax(np.matmul(nn.gelu(np.matmul(x, w.transpose())), v.transpose()), -1))
      .mean()
      .neg(),
  dropout(w, v, x) {
    const hidden = nn.relu(np.matmul(x, w.transpose()));
    const kept = random.bernoulli(random.key(3), 0.5, [3, 6]);
    return np.square(np.matmul(np.where(kept, hidden, 0), v.transpose())).sum();
  },
};

describe.each(Object.entries(networks))("%s", (_, forward) => {
  const whole = (): Graph => lower(trace(lossAndGradient(forward), avals));
  const inputs = avals.map((aval, i) => sample(aval, i));

  it("computes the same", () => {
    const graph = whole();
    const { first, second, kept } = cutGraph(graph, (output) => output === 0);
    const early = runGraph(first, inputs);
    expect(early).toHaveLength(1 + kept.length);
    const late = runGraph(second, [...inputs, ...early.slice(1)]);
    expect([early[0], ...late]).toEqual(runGraph(graph, inputs));
  });

  it("does every product once", () => {
    const graph = whole();
    const { first, second } = cutGraph(graph, (output) => output === 0);
    expect(count(first, "dot") + count(second, "dot")).toBe(count(graph, "dot"));
    expect(count(first, "randomBits") + count(second, "randomBits")).toBe(count(graph, "randomBits"));
    // What only the gradient needs is not looked at before.
    expect(first.nodes.some((node) => node.op === "input" && node.index === 3)).toBe(false);
  });
});

it("an output that is one of the arguments needs nothing of the first half", () => {
  const graph = lower(trace((x: JaxArray) => [x.ref.sum(), x], [f32(3)]));
  const { second, kept } = cutGraph(graph, (output) => output === 0);
  expect(kept).toEqual([]);
  expect(runGraph(second, [[1, 2, 3]])).toEqual([[1, 2, 3]]);
});
