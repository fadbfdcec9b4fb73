// Max and average pooling over [batch, channels, height, width].
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import type { Tensor } from "../core/model.ts";
import { expectImages, pure, type Layer } from "./layer.ts";
import { axisOf, pairOf, size2d, windowSlice, type Axis, type Size2d } from "./windows.ts";

/** Options of `maxPool2d` and `avgPool2d`. */
export interface PoolOptions {
  /** Default: the kernel, so that windows do not overlap. */
  readonly stride?: Size2d;
  /** Rows and columns added on each side, at most half the kernel (default 0). Max pooling ignores them. */
  readonly padding?: Size2d;
}

const LOWEST = -3.4028234663852886e38;

/** Ties go to the first element of the window, as in PyTorch. */
export const maxPool2d = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "maxPool2d",
    takes: () => ({ args: { kernel: size2d(1) }, options: { stride: size2d(1), padding: size2d(0) } }),
  },
  (kernel: Size2d, options: PoolOptions = {}): Layer =>
    pool("maxPool2d", kernel, options, (parts) => parts.reduce((a, b) => np.maximum(a, b)), LOWEST),
);

/** Zeros from padding count in the mean, as in PyTorch. */
export const avgPool2d = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "avgPool2d",
    takes: () => ({ args: { kernel: size2d(1) }, options: { stride: size2d(1), padding: size2d(0) } }),
  },
  (kernel: Size2d, options: PoolOptions = {}): Layer =>
    pool("avgPool2d", kernel, options, (parts) => parts.reduce((a, b) => a.add(b)).mul(1 / parts.length), 0),
);

function pool(
  name: string,
  kernel: Size2d,
  options: PoolOptions,
  combine: (parts: Tensor[]) => Tensor,
  outside: number,
): Layer {
  const [kernelHeight, kernelWidth] = pairOf(kernel);
  const stride = pairOf(options.stride ?? kernel);
  const padding = pairOf(options.padding ?? 0);
  if (padding[0] * 2 > kernelHeight || padding[1] * 2 > kernelWidth)
    throw new OptionError(`${name}: Expected \`padding\` to be at most half of \`kernel\`, got ${padding.join(" × ")}`);
  const owner = `${name}(${[kernelHeight, kernelWidth].join(" × ")})`;
  return pure((x) => {
    expectImages(owner, x);
    const rows = axisOf(owner, x, 2, kernelHeight, stride[0], padding[0]);
    const cols = axisOf(owner, x, 3, kernelWidth, stride[1], padding[1]);
    const padded = pad(x, rows, cols, outside);
    const parts: Tensor[] = [];
    for (let i = 0; i < kernelHeight; i++) {
      const row = windowSlice(padded, 2, i, rows);
      for (let j = 0; j < kernelWidth; j++) parts.push(windowSlice(row, 3, j, cols));
      row.dispose();
    }
    padded.dispose();
    return combine(parts);
  });
}

function pad(x: Tensor, rows: Axis, cols: Axis, value: number): Tensor {
  const [height, width] = x.shape.slice(2) as [number, number];
  const padded = np.pad(x, [[0, 0], [0, 0], rows.pad, cols.pad]);
  // Without leading padding the extra zeros at the end are in no window.
  if (value === 0 || (rows.pad[0] === 0 && cols.pad[0] === 0)) return padded;
  const inside = np.pad(np.ones([height, width]), [rows.pad, cols.pad]).greater(0);
  return np.where(inside, padded, value);
}
