import { beforeAll, describe, expect, it } from "vitest";
import {
  applyLayer,
  context,
  fill,
  gradcheck,
  gradcheckLayer,
  maxError,
  noise,
  put,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import type { Tensor, Tensors } from "../core/model.ts";
import { avgPool2d, maxPool2d, type PoolOptions } from "./pool2d.ts";
import type { Size2d } from "./windows.ts";

beforeAll(startWasm);

const cases: [Size2d, PoolOptions][] = [
  [2, {}],
  [3, { stride: 2, padding: 1 }],
  [[3, 2], { stride: 1 }],
  [2, { stride: [1, 3], padding: [1, 0] }],
];
const two = (size: Size2d): [number, number] => (typeof size === "number" ? [size, size] : [...size]);

function reference(values: ArrayLike<number>, kernel: Size2d, options: PoolOptions, max: boolean) {
  const [height, width] = [5, 6];
  const [kh, kw] = two(kernel);
  const [sh, sw] = two(options.stride ?? kernel);
  const [ph, pw] = two(options.padding ?? 0);
  const shape = [2, 2, Math.floor((height + 2 * ph - kh) / sh) + 1, Math.floor((width + 2 * pw - kw) / sw) + 1];
  const data = fill(shape, ([n, c, i, j]) => {
    const seen: number[] = [];
    for (let a = 0; a < kh; a++)
      for (let b = 0; b < kw; b++) {
        const [r, s] = [i! * sh + a - ph, j! * sw + b - pw];
        if (r >= 0 && r < height && s >= 0 && s < width) seen.push(values[((n! * 2 + c!) * height + r) * width + s]!);
      }
    return max ? Math.max(...seen) : seen.reduce((x, y) => x + y, 0) / (kh * kw);
  });
  return { shape, data };
}

describe.each(cases)("kernel %o, %o", (kernel, options) => {
  // All negative: a zero from padding would win.
  const x = noise([2, 2, 5, 6]);
  const negative = { ...x, data: x.data.map((v) => v - 2) };

  it.each([true, false])("equals the definition, max %s", (max) => {
    const layer = max ? maxPool2d(kernel, options) : avgPool2d(kernel, options);
    const y = applyLayer(layer, {}, negative);
    const expected = reference(negative.data, kernel, options, max);
    expect(y.shape).toEqual(expected.shape);
    expect(maxError(read(y), expected.data)).toBeLessThan(1e-6);
  });

  it("has the gradients of finite differences", () => {
    // Numbers far enough apart that a small step changes no winner.
    const apart = Float32Array.from({ length: 30 }, (_, i) => ((i * 7) % 30) / 10 - 2);
    expect(gradcheckLayer(maxPool2d(kernel, options), { data: apart, shape: [1, 1, 5, 6] })).toEqual([]);
    expect(gradcheckLayer(avgPool2d(kernel, options), { data: apart, shape: [1, 1, 5, 6] })).toEqual([]);
    const input = { x: { data: apart, shape: [1, 1, 5, 6] } };
    const summed = ({ x }: Tensors) => (avgPool2d(kernel, options).apply({}, x!, context()) as Tensor).sum();
    expect(gradcheck(summed, input)).toEqual([]);
  });
});

it("explains wrong options and shapes", () => {
  expect(() => maxPool2d(0)).toThrow("maxPool2d: Expected `kernel`");
  expect(() => maxPool2d(2, { padding: 2 })).toThrow("at most half of `kernel`");
  expect(() => avgPool2d(2).apply({}, put(noise([3, 4])), context())).toThrow(
    "avgPool2d(2 × 2): expected [batch, channels, height, width], got [3, 4]",
  );
});
