// Convolutions that a model takes from jax-js itself, forward and backward: `nn.conv2d` is made of products already.
import { lax } from "@jax-js/jax";
import type { Tensor } from "hookline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BothEngines, numbers, withGradients } from "../support/both-engines.ts";

let engines: BothEngines;
beforeAll(async () => {
  engines = await BothEngines.create();
});
afterAll(() => engines.close());

/** jax-js wants numbers where it puts zeros between. */
const NONE = [
  [0, 0],
  [0, 0],
];

const cases = [
  { strides: [1, 1], padding: "SAME", lhsDilation: [1, 1], rhsDilation: [1, 1] },
  { strides: [2, 1], padding: "VALID", lhsDilation: [1, 1], rhsDilation: [1, 1] },
  {
    strides: [2, 3],
    padding: [
      [1, 2],
      [0, 1],
    ],
    lhsDilation: [1, 1],
    rhsDilation: [1, 1],
  },
  { strides: [1, 2], padding: "SAME", lhsDilation: [1, 1], rhsDilation: [2, 2] },
  { strides: [1, 1], padding: NONE, lhsDilation: [2, 3], rhsDilation: [1, 2] },
] as const;

test.each(cases)("%j", async ({ strides, padding, ...dilation }) => {
  const convolve = (x: Tensor, kernel: Tensor): Tensor =>
    lax.convGeneralDilated(x, kernel, [...strides], padding as never, dilation as never);
  const args = [numbers([2, 3, 9, 8]), numbers([4, 3, 3, 2], 1)];
  await expect(engines.differences(withGradients(convolve), args)).resolves.toEqual([]);
});

test("along one dimension", async () => {
  const convolve = (x: Tensor, kernel: Tensor): Tensor => lax.conv(x, kernel, [2], "SAME");
  const args = [numbers([3, 2, 11]), numbers([5, 2, 4], 1)];
  await expect(engines.differences(withGradients(convolve), args)).resolves.toEqual([]);
});
