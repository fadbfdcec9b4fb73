// What is put together from sums of zeros with a part each is written once.
import { grad, init, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, it, test } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import { maxPool2d } from "../../../nn/index.ts";
import type { Graph } from "../../lower/graph.ts";
import { planGraph } from "../plan/plan.ts";
import { joinAssembled } from "./joined.ts";

beforeAll(async () => void (await init("wasm")));

const assembled = (graph: Graph): number[][] =>
  graph.nodes.flatMap((node) => (node.op === "assemble" ? [node.args.map(({ view }) => sizeOf(view.shape))] : []));

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

const pooled = (kernel: number, stride: number): Graph =>
  lowered(
    (x, y) => grad((a: Tensor) => (maxPool2d(kernel, { stride }).apply({}, a, {} as never) as Tensor).mul(y).sum())(x),
    f32(4, 3, 8, 12),
    f32(4, 3, Math.floor((8 - kernel) / stride) + 1, Math.floor((12 - kernel) / stride) + 1),
  );

it("the gradient of a pooled image is one array of four parts, in one kernel", () => {
  const graph = pooled(2, 2);
  expect(assembled(graph).length).toBeGreaterThan(4);
  expect(assembled(joinAssembled(graph))).toEqual([Array.from({ length: 4 }, () => 4 * 3 * 4 * 6)]);
  expect(planGraph(graph).steps.map(({ kind }) => kind)).toEqual(["kernel"]);
});

it("windows that meet are added up", () => {
  const joined = joinAssembled(pooled(3, 1));
  expect(joined.nodes.filter((node) => node.op === "map" && node.fn === "add").length).toBeGreaterThan(0);
});

test.each<[string, (x: Tensor) => Tensor, number[][]]>([
  ["an array that was split", (x) => np.concatenate(np.split(x, 3, 1).toReversed(), 1), [[16, 16, 16]]],
  [
    "one part that is used twice stays",
    (x) => {
      const zeros = np.pad(x, [
        [0, 4],
        [0, 0],
      ]);
      return zeros.ref.add(np.flip(zeros, 0));
    },
    [[48]],
  ],
])("%s", (_, fn, sizes) => {
  expect(assembled(joinAssembled(lowered(fn, f32(4, 12))))).toEqual(sizes);
});
