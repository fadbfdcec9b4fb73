// What belongs together becomes one kernel, and what has to be complete first does not.
import { grad, init, nn, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it, test } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import { initKey, layerNorm } from "../../../nn/index.ts";
import { adamw } from "../../../optim/index.ts";
import type { Graph } from "../../lower/graph.ts";
import { divideKernel } from "../threads/divide.ts";
import { planGraph } from "./plan.ts";

beforeAll(async () => void (await init("wasm")));

const kindsOf = (graph: Graph): string[] => planGraph(graph).steps.map(({ kind }) => kind);

describe("one kernel each", () => {
  const norm = layerNorm(12);
  const gamma = norm.init(initKey(0));
  const normalised = (x: Tensor, weight: Tensor, bias: Tensor): Tensor =>
    norm.apply({ weight, bias }, x, {} as never) as Tensor;
  const optimizer = adamw();
  const hyper = Object.keys(optimizer.hyper(optimizer.defaults, 1));

  test.each<[string, () => Graph]>([
    ["softmax", () => lowered((x) => nn.softmax(x, -1), f32(6, 10))],
    ["logSoftmax", () => lowered((x) => nn.logSoftmax(x, -1), f32(6, 10))],
    [
      "softmax, backward",
      () => lowered((x, y) => grad((a: Tensor) => nn.softmax(a, -1).mul(y).sum())(x), f32(6, 10), f32(6, 10)),
    ],
    ["layer norm", () => lowered(normalised, f32(6, 12), f32(...gamma.weight!.shape), f32(12))],
    ["a chain of maps", () => lowered((x) => np.exp(x.mul(2)).add(1), f32(5, 6))],
    [
      "an adamw update with its moments",
      () =>
        lowered(
          (p, g, m, v, ...h) => {
            const scalars = Object.fromEntries(hyper.map((name, i) => [name, h[i]!]));
            const [first, second] = optimizer.slots as [string, string];
            const [next, slots] = optimizer.leaf(p, g, { [first]: m, [second]: v }, scalars);
            return [next, ...Object.values(slots)];
          },
          ...[0, 1, 2, 3].map(() => f32(7, 9)),
          ...hyper.map(() => f32()),
        ),
    ],
  ])("%s", (_, graph) => expect(kindsOf(graph())).toEqual(["kernel"]));
});

it("a sum over everything is complete before it is used", () => {
  const graph = lowered((x) => x.ref.mul(x.sum(0, { keepdims: true })), f32(6, 10));
  expect(kindsOf(graph)).toEqual(["kernel", "kernel"]);
});

it("a table is complete before rows of it are taken", () => {
  const ids = { shape: [4], dtype: "int32" as const };
  const graph = lowered((x, i) => np.take(np.exp(x), i, 0), f32(4, 5), ids);
  expect(kindsOf(graph)).toEqual(["kernel", "kernel"]);
});

it("what is turned about is complete before it is read", () => {
  const graph = lowered(
    (x) => {
      const y = np.exp(x);
      return [y.ref, y.ref.add(y.transpose())];
    },
    f32(6, 6),
  );
  expect(kindsOf(graph)).toEqual(["kernel", "kernel"]);
});

it("products and sorts stand apart", () => {
  const graph = lowered((x, w) => np.sort(np.exp(np.matmul(x, w))), f32(16, 16), f32(16, 16));
  expect(kindsOf(graph)).toEqual(["contraction", "kernel", "sort"]);
});

describe("a sum in stretches shares a kernel only with what is divided along the same rows", () => {
  /** Gradients of token and position tables, which both come from one array [batch, 64, 128]. */
  const tables = (vocabulary: number, batch: number): Graph =>
    lowered(
      (rows, ids) => {
        const places = rows.ref.sum(0);
        const table = np.zeros([vocabulary, 128]);
        const look = (t: Tensor): Tensor => np.take(t, ids.astype(np.int32), 0).mul(rows).sum();
        return [places, grad(look)(table)];
      },
      f32(batch, 64, 128),
      f32(batch, 64),
    );

  test.each([
    [120, 8, 2],
    [120, 12, 3],
    [256, 16, 4],
    [1000, 64, 2],
  ])("vocabulary %i, batch %i, %i threads", (vocabulary, batch, threads) => {
    const plan = planGraph(tables(vocabulary, batch), threads);
    const stretched = plan.steps.flatMap((step) =>
      step.kind === "kernel" && step.kernel.statements.some((s) => "stretches" in s) ? [step.kernel] : [],
    );
    expect(stretched.length).toBeGreaterThan(0);
    for (const kernel of stretched)
      expect(divideKernel(kernel, threads)).toMatchObject({ kernel: { ranged: "outer" } });
  });
});
