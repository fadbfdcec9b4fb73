// Matrix products are found where they are, and their sides are used where they lie.
import { grad, init, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import type { Graph } from "../../lower/graph.ts";
import { isWhole } from "../../lower/view.ts";
import { planGraph } from "./plan.ts";
import { prepare } from "./prepare.ts";

beforeAll(async () => void (await init("wasm")));

/** How each product is called, and how many numbers are copied for it. */
function productsOf(graph: Graph): { forms: string[]; copies: number } {
  const prepared = prepare(graph, 1);
  const known = new Set(graph.nodes);
  const forms = [...prepared.products.values()].map(
    ({ contraction: c }) =>
      `${c.batch}×${c.rows}×${c.inner}×${c.columns}${c.leftTransposed ? "t" : "n"}${c.rightTransposed ? "t" : "n"}`,
  );
  const copies = prepared.nodes.filter(
    (node) => !known.has(node) && node.op === "map" && !prepared.outputs.includes(node),
  );
  return { forms, copies: copies.length };
}

describe("a linear layer", () => {
  const linear = (x: Tensor, w: Tensor): Tensor => np.matmul(x, w.transpose());
  const gradients = (x: Tensor, w: Tensor): Tensor[] =>
    grad(([a, b]: Tensor[]) => np.square(linear(a!, b!)).sum())([x, w] as never);

  it("x Wᵀ is one product that copies nothing", () => {
    expect(productsOf(lowered(linear, f32(32, 20), f32(24, 20)))).toEqual({ forms: ["1×32×20×24nt"], copies: 0 });
  });

  it("so are its gradients: dYᵀ X and dY W", () => {
    const { forms, copies } = productsOf(lowered(gradients, f32(32, 20), f32(24, 20)));
    expect(copies).toBe(0);
    expect(forms.toSorted()).toEqual(["1×24×32×20tn", "1×32×20×24nt", "1×32×24×20nn"].toSorted());
  });

  it("of tokens, whose rows are two dimensions", () => {
    const { forms, copies } = productsOf(lowered(gradients, f32(4, 8, 20), f32(24, 20)));
    expect(copies).toBe(0);
    expect(forms.toSorted()).toEqual(["1×24×32×20tn", "1×32×20×24nt", "1×32×24×20nn"].toSorted());
  });
});

it("attention: scores and sums of values, with a copy for each side that heads cut through at most", () => {
  const attend = (q: Tensor, k: Tensor, v: Tensor): Tensor => {
    const heads = (x: Tensor): Tensor => x.reshape([2, 16, 4, 8]).transpose([0, 2, 1, 3]);
    const scores = np.matmul(heads(q), heads(k).transpose([0, 1, 3, 2]));
    return np.matmul(scores, heads(v)).transpose([0, 2, 1, 3]).reshape([2, 16, 32]);
  };
  const { forms, copies } = productsOf(lowered(attend, f32(2, 16, 32), f32(2, 16, 32), f32(2, 16, 32)));
  expect(forms).toHaveLength(2);
  expect(copies).toBeLessThanOrEqual(3);
});

it("whole numbers and small dots are no matter for a matrix library", () => {
  const whole = { shape: [32, 32], dtype: "int32" as const };
  expect(productsOf(lowered((x, y) => np.matmul(x, y), whole, whole)).forms).toEqual([]);
  expect(productsOf(lowered((x, y) => np.matmul(x, y), f32(4, 4), f32(4, 4))).forms).toEqual([]);
  expect(productsOf(lowered((x, y) => x.mul(y).sum(-1), f32(64, 64), f32(64, 64))).forms).toEqual([]);
});

it("a product lies as it comes where its users can look at it so", () => {
  const fn = (x: Tensor, w: Tensor): Tensor => np.exp(np.matmul(x.transpose([1, 0, 2]), w));
  const graph = lowered(fn, f32(8, 4, 16), f32(16, 24));
  const { products, storage, summed } = prepare(graph, 1);
  expect(summed.size).toBe(0);
  expect([...products.keys()].map((dot) => isWhole(storage.layout(dot)))).toEqual([false]);
});

it("a product whose users need rows that strides cannot say is put straight", () => {
  const fn = (x: Tensor, w: Tensor): Tensor =>
    np
      .matmul(x.transpose([1, 0, 2]), w)
      .reshape([32, 24])
      .sum(0);
  const graph = lowered(fn, f32(8, 4, 16), f32(16, 24));
  const { products, storage, summed } = prepare(graph, 1);
  expect(products.size).toBe(1);
  const [dot] = [...summed.keys()];
  expect(dot?.op).toBe("dot");
  expect(isWhole(storage.layout(dot!))).toBe(true);
});

it("an output that others look at turned about is planned like any other", () => {
  const fn = (s: Tensor, c: Tensor): Tensor[] => {
    const y = np.broadcastTo(s, [3, 4]).neg();
    return [y.ref, np.exp(y.transpose().mul(c).reshape([12]))];
  };
  expect(planGraph(lowered(fn, f32(), f32(4, 3))).steps.length).toBeGreaterThan(0);
});

it("gives every output memory of its own, also what is given twice, an input or a number", () => {
  const graph = lowered((x) => [x.ref, np.exp(x.ref), np.exp(x.ref), x.transpose(), np.zeros([2])], f32(3, 4));
  const { outputs } = prepare(graph, 1);
  expect(new Set(outputs).size).toBe(5);
  expect(outputs.every(({ op }) => op !== "input" && op !== "literal")).toBe(true);
});
