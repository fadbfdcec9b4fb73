// Which convolutions of a step the native engine has for itself, and how threads share them.
import { grad, init, lax, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it, test } from "vitest";
import { f32 } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import { conv2d } from "../../../nn/index.ts";
import { lower } from "../../lower/lower.ts";
import { trace, type Aval } from "../../lower/trace.ts";
import { planGraph } from "../plan/plan.ts";
import { planWork } from "../threads/work.ts";
import { type Convolution, CONVOLUTIONS } from "./convolution.ts";
import { windowsKernel } from "./windows.ts";

beforeAll(async () => void (await init("wasm")));

const planOf = (fn: (...args: Tensor[]) => unknown, ...avals: Aval[]) =>
  planGraph(lower(trace(fn, avals, { convolves: true }), CONVOLUTIONS), 2);

const stepsOf = (...given: Parameters<typeof planOf>): string[] =>
  planOf(...given).steps.map((step) => (step.kind === "convolution" ? step.how : step.kind));

/** The result and the gradients of a layer that strides and pads. */
const layer = conv2d(16, 32, { kernel: 3, stride: 2, padding: 1 });
const trained = (x: Tensor, weight: Tensor, bias: Tensor): unknown => {
  const loss = (params: Record<string, Tensor>): Tensor =>
    np.square(layer.apply({ weight: params.weight!, bias: params.bias! }, params.x!, {} as never) as Tensor).sum();
  return (grad(loss as never) as unknown as (params: Record<string, Tensor>) => unknown)({ x, weight, bias });
};

it("a layer copies no windows of the whole batch", () => {
  const { steps, buffers } = planOf(trained, f32(8, 16, 20, 20), f32(32, 16, 3, 3), f32(32));
  const kinds = steps.flatMap((step) => (step.kind === "convolution" ? [step.how] : []));
  // Forward, the gradient of the kernel, and that of the image: with a stride of 2, four times one in four.
  expect(kinds.toSorted()).toEqual(["correlate", ...Array.from({ length: 5 }, () => "slide")]);
  expect(steps.some(({ kind }) => kind === "contraction")).toBe(false);
  expect(Math.max(...buffers.map(({ length }) => length))).toBe(8 * 16 * 20 * 20);
});

test.each<[string, (x: Tensor, y: Tensor) => Tensor, number[], number[]]>([
  ["along one dimension", (x, y) => lax.conv(x, y, [1], "SAME"), [4, 8, 40], [8, 8, 3]],
  ["one window that is the whole image", (x, y) => lax.conv(x, y, [1, 1], "VALID"), [4, 8, 7, 7], [16, 8, 7, 7]],
])("%s is a product", (_, fn, image, kernel) => {
  const steps = stepsOf(fn, f32(...image), f32(...kernel));
  expect(steps).toContain("contraction");
  expect(steps).not.toContain("slide");
});

describe("threads", () => {
  const convolve = (x: Tensor, y: Tensor): Tensor => lax.conv(x, y, [1, 1], "SAME");

  it("share the images of a batch, and the outputs of a single one", () => {
    const partsOf = (batch: number) => {
      const { steps } = planOf(convolve, f32(batch, 16, 32, 32), f32(32, 16, 3, 3));
      return planWork(steps, 2, () => 64).works.flatMap((work) => work?.parts ?? []);
    };
    expect(partsOf(5)).toMatchObject([
      { convolution: { batch: 2, outputs: 32 }, image: { offset: 0 }, out: { offset: 0 } },
      { convolution: { batch: 3 }, image: { offset: 2 * 16 * 1024 * 4 }, out: { offset: 2 * 32 * 1024 * 4 } },
    ]);
    expect(partsOf(1)).toMatchObject([
      { convolution: { batch: 1, outputs: 16 }, kernel: { offset: 0 } },
      { convolution: { batch: 1, outputs: 16 }, kernel: { offset: 16 * 16 * 9 * 4 }, out: { offset: 16 * 1024 * 4 } },
    ]);
  });
});

describe("windows", () => {
  const c: Convolution = {
    batch: 2,
    channels: 4,
    outputs: 3,
    size: [5, 6],
    window: [5, 6],
    places: [3, 3],
    strides: [1, 1],
    dilation: [1, 1],
    padding: [
      [1, 1],
      [1, 1],
    ],
  };

  it("of images as large as the result are one stretch each, with zeros at the edges", () => {
    const { statements } = windowsKernel(c, 2);
    expect(statements.filter(({ value }) => value !== 0).map(({ inner }) => inner)).toContainEqual([4 * 6 - 1]);
    expect(statements.filter(({ value }) => value === 0)).toHaveLength(6);
  });

  it("of others are rows", () => {
    const { statements } = windowsKernel(
      {
        ...c,
        size: [7, 8],
        padding: [
          [0, 0],
          [0, 0],
        ],
      },
      1,
    );
    expect(statements.map(({ inner }) => inner.join())).toEqual(Array.from({ length: 9 }, () => "5,6"));
  });
});
