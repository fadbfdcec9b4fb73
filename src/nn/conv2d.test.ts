import { beforeAll, expect, it } from "vitest";
import {
  applyLayer,
  context,
  fill,
  gradcheckLayer,
  maxError,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import { conv2d, type Conv2dOptions } from "./conv2d.ts";
import { initKey } from "./key.ts";

beforeAll(startWasm);

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
