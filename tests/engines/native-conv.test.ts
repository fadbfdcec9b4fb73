// Convolutions, forward and backward, as jax-js writes them and as `nn.conv2d` does.
import { lax } from "@jax-js/jax";
import type { Tensor } from "hookline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BothEngines, numbers, run, withGradients } from "../support/both-engines.ts";
import { Rng } from "../../src/data/random.ts";

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

test("a batch whose windows are copied in several rounds, and a last one of fewer images", async () => {
  const convolve = (x: Tensor, kernel: Tensor): Tensor => lax.convGeneralDilated(x, kernel, [1, 1], "SAME");
  const args = [numbers([11, 16, 12, 12]), numbers([16, 16, 5, 5], 1)];
  await expect(engines.differences(withGradients(convolve), args)).resolves.toEqual([]);
});

/** What a random convolution is of; small enough that wasm computes hundreds. */
function randomCase(rng: Rng) {
  const among = <T>(list: readonly T[]): T => list[rng.int(list.length)]!;
  const pair = (make: () => number): [number, number] => [make(), make()];
  const kernel = pair(() => 1 + rng.int(among([3, 5])));
  const rhsDilation = pair(() => among([1, 1, 2]));
  const lhsDilation = pair(() => among([1, 1, 1, 2]));
  // Large enough for one window.
  const size = kernel.map((n, i) => (n - 1) * rhsDilation[i]! + 1 + rng.int(9));
  const groups = among([1, 1, 1, 1, 2]);
  const channels = among([1, 2, 3, 4, 6, 8, 16, 20, 22]);
  const outputs = groups * among([1, 2, 5, 8, 16, 19, 32]);
  return {
    image: [among([1, 1, 2, 3, 5, 8]), groups * channels, ...size],
    kernel: [outputs, channels, ...kernel],
    strides: pair(() => among([1, 1, 2, 3])),
    padding: [pair(() => rng.int(3)), pair(() => rng.int(3))],
    options: { rhsDilation, lhsDilation, featureGroupCount: groups },
  };
}

const SEEDS = 8;

test.each([1, 2, 3, 4])("random ones on %i threads: the numbers of wasm, and the same bits again", async (threads) => {
  const rng = new Rng(threads);
  const both = await BothEngines.create(threads);
  try {
    for (let i = 0; i < SEEDS; i++) {
      const { image, kernel, strides, padding, options } = randomCase(rng);
      const convolve = (x: Tensor, y: Tensor): Tensor => lax.convGeneralDilated(x, y, strides, padding, options);
      const args = [numbers(image, i), numbers(kernel, i + 1)];
      const outline = JSON.stringify({ image, kernel, strides, padding, options });
      expect(await both.differences(withGradients(convolve), args), outline).toEqual([]);
      const twice = [await run(both.other, withGradients(convolve) as never, args)];
      twice.push(await run(both.other, withGradients(convolve) as never, args));
      expect(twice[1], outline).toEqual(twice[0]);
    }
  } finally {
    await both.close();
  }
});
