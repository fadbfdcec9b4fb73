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
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import { type Conv2dOptions, type PoolOptions, type Size2d, avgPool2d, conv2d, maxPool2d } from "./conv.ts";
import { initKey } from "./key.ts";
import type { Tensor, Tensors } from "../core/model.ts";

beforeAll(startWasm);

describe("conv2d", () => {
  const options: Conv2dOptions[] = [
    { kernel: 3 },
    { kernel: 1, bias: false },
    { kernel: [2, 3], stride: [2, 1], padding: [1, 0] },
    { kernel: 3, stride: 2, padding: 1 },
    { kernel: 2, stride: 3 },
  ];

  it.each(options)("is the convolution by definition: %o", (option) => {
    const [batch, channels, height, width, out] = [2, 3, 6, 7, 2];
    const layer = conv2d(channels, out, option);
    const params = layer.init(initKey(0));
    const x = noise([batch, channels, height, width]);
    const [kh, kw] = params.weight!.shape.slice(2) as [number, number];
    const [sh, sw] = [option.stride ?? 1].flat().concat([option.stride ?? 1].flat()) as [number, number];
    const [ph, pw] = [option.padding ?? 0].flat().concat([option.padding ?? 0].flat()) as [number, number];
    const shape = [batch, out, Math.floor((height + 2 * ph - kh) / sh) + 1, Math.floor((width + 2 * pw - kw) / sw) + 1];
    const expected = fill(shape, ([n, o, i, j]) => {
      let sum = params.bias?.data[o!] ?? 0;
      for (let c = 0; c < channels; c++)
        for (let a = 0; a < kh; a++)
          for (let b = 0; b < kw; b++) {
            const [r, s] = [i! * sh + a - ph, j! * sw + b - pw];
            if (r < 0 || r >= height || s < 0 || s >= width) continue;
            const at = ((n! * channels + c) * height + r) * width + s;
            sum += x.data[at]! * params.weight!.data[((o! * channels + c) * kh + a) * kw + b]!;
          }
      return sum;
    });
    const y = applyLayer(layer, params, x);
    expect(y.shape).toEqual(shape);
    expect(maxError(read(y), expected)).toBeLessThan(1e-5);
  });

  it.each(options)("has the gradients of finite differences: %o", (option) => {
    expect(gradcheckLayer(conv2d(2, 2, option), noise([1, 2, 5, 5]))).toEqual([]);
  });

  it("starts as PyTorch does", () => {
    const { weight, bias } = conv2d(4, 8, { kernel: 5 }).init(initKey(0));
    expect(weight!.shape).toEqual([8, 4, 5, 5]);
    expect(Math.max(...weight!.data, ...bias!.data)).toBeLessThanOrEqual(0.1);
  });

  it("explains wrong sizes and shapes", () => {
    const apply = (shape: number[]) => {
      const layer = conv2d(3, 4, { kernel: 5 });
      return layer.apply(putAll(layer.init(initKey(0))), put(noise(shape)), context());
    };
    expect(() => apply([2, 28, 28])).toThrow("conv2d(3, 4): expected [batch, 3, height, width], got [2, 28, 28]");
    expect(() => apply([2, 3, 4, 9])).toThrow("conv2d(3, 4): the kernel (5) is larger than the padded input (4)");
    expect(() => conv2d(1, 1, {} as Conv2dOptions)).toThrow("missing option `kernel`");
    expect(() => conv2d(1, 1, { kernel: [3, 0] })).toThrow(
      "Expected `kernel` to be a whole number ≥ 1 or [height, width]",
    );
  });
});

describe("pool2d", () => {
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
});
