// A kernel that copies the windows of some images side by side: for each tap, the numbers of the image that it meets.
import type { Kernel, KernelValue, Statement } from "../kernel.ts";
import type { Convolution } from "./convolution.ts";

/** What a tap meets along one dimension: from place `from` to `to` the image, and zeros at the others. */
interface Reach {
  readonly from: number;
  readonly to: number;
  /** The first number of the image. */
  readonly first: number;
}

function reachOf(c: Convolution, axis: 0 | 1, tap: number): Reach {
  const start = tap * c.strides[axis] - c.padding[axis][0];
  const [step, size, window] = [c.dilation[axis], c.size[axis], c.window[axis]];
  const from = Math.min(Math.max(0, Math.ceil(-start / step)), window);
  const to = Math.max(from, Math.min(window, Math.floor((size - 1 - start) / step) + 1));
  return { from, to, first: start + from * step };
}

/**
 * Buffer 0 is [images, batch, …size], buffer 1 becomes [batch, …places, images, …window], where it was 0 or holds what
 * this kernel has left there before: places that no tap meets are not written.
 */
export function windowsKernel(c: Convolution, images: number): Kernel {
  const [[height, width], [rows, columns]] = [c.size, c.window];
  const plane = rows * columns;
  const values: KernelValue[] = [{ kind: "literal", value: 0, dtype: "float32" }];
  const copies: Statement[] = [];
  const zeros: Statement[] = [];
  const taps = c.places[0] * c.places[1];
  const sourceOuter = [c.batch * height * width, height * width];
  const targetOuter = [plane, taps * images * plane];
  for (let tap = 0; tap < taps; tap++) {
    const down = reachOf(c, 0, Math.floor(tap / c.places[1]));
    const along = reachOf(c, 1, tap % c.places[1]);
    const [count, length] = [down.to - down.from, along.to - along.from];
    if (count === 0 || length === 0) continue;
    const at = tap * images * plane + down.from * columns;
    const to = (offset: number, inner: number[]) => ({ buffer: 1, offset: at + offset, outer: targetOuter, inner });
    const store = (inner: number[], steps: number[], strides: number[]): void => {
      const offset = down.first * width + along.first;
      const from = { buffer: 0, offset, outer: sourceOuter, inner: steps };
      values.push({ kind: "load", dtype: "float32", from });
      copies.push({ kind: "store", inner, value: values.length - 1, to: to(along.from, strides) });
    };
    const inRows = width === columns && c.dilation[0] === 1 && c.dilation[1] === 1;
    if (!inRows) {
      store([count, length], [c.dilation[0] * width, c.dilation[1]], [columns, 1]);
      continue;
    }
    // One stretch for all rows: what lies between them is of other rows, and becomes 0 afterwards.
    store([(count - 1) * columns + length], [1], [1]);
    for (const [begin, end] of [
      [0, along.from],
      [along.to, columns],
    ] as const) {
      if (begin === end) continue;
      zeros.push({ kind: "store", inner: [count, end - begin], value: 0, to: to(begin, [columns, 1]) });
    }
  }
  return { name: "windows", buffers: 2, outer: [images, c.batch], values, statements: [...copies, ...zeros] };
}
