// What a product wants long after it was computed is computed again where that saves memory and costs little.
import { grad, init, nn, numpy as np } from "@jax-js/jax";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { BothEngines, numbers } from "../../../../tests/support/both-engines.ts";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import type { Graph } from "../../lower/graph.ts";
import { planArena } from "./arena.ts";
import { copyLate } from "./late-copies.ts";
import { planGraph } from "./plan.ts";

let engines: BothEngines;
beforeAll(async () => {
  await init("wasm");
  engines = await BothEngines.create();
});
afterAll(() => engines.close());

/** Weighed values, as in attention, by `depth` softmaxes of scores; all gradients. */
const attention =
  (depth: number) =>
  (scores: Tensor, values: Tensor): Tensor => {
    const loss = (s: Tensor): Tensor => {
      let seen = values.ref;
      for (let i = 0; i < depth; i++) seen = np.matmul(nn.softmax(s.ref.mul(1 + i), -1), seen);
      s.dispose();
      return np.square(seen).sum();
    };
    return grad(loss)(scores);
  };

const graphOf = (size: number): Graph => lowered(attention(3), f32(size, 64, 64), f32(size, 64, 64));
const copies = (size: number): number => {
  const graph = graphOf(size);
  return copyLate(graph).nodes.length - graph.nodes.length;
};

it("the weights of attention, from their exponentials", () => {
  expect(copies(64)).toBeGreaterThan(0);
  // One row of the batch fewer, and each array is too small.
  expect(copies(63)).toBe(0);
  const bytesOfRow = (size: number): number => planArena(planGraph(graphOf(size))).bytes / size;
  expect(bytesOfRow(64)).toBeLessThan(0.9 * bytesOfRow(63));
});

test("the numbers are those of wasm", async () => {
  const args = [numbers([64, 64, 64]), numbers([64, 64, 64], 1)];
  await expect(engines.differences(attention(2) as never, args)).resolves.toEqual([]);
});
