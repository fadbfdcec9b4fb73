// Convolutions as work for threads: each has a range of the images. One whose window slides is a call of onnxruntime; a
// correlation copies the windows of as many images as the second cache has room for, multiplies them by the kernels, and
// adds up what the products come to.
import type { Contraction } from "../plan/contract.ts";
import type { Kernel } from "../kernel.ts";
import type { Step } from "../plan/steps.ts";
import { type Range, rangesOf, WORTH_DIVIDING } from "../threads/divide.ts";
import type { Part, Place } from "../threads/parts.ts";
import { type Convolution, outputsLast } from "./convolution.ts";
import { windowsKernel } from "./windows.ts";

type ConvolutionStep = Extract<Step, { kind: "convolution" }>;

const BYTES = 4;
/** As many windows are copied at a time, in numbers: half of a second cache. */
const TILE = 131_072;

const sizes = (c: Convolution) => ({
  image: c.size[0] * c.size[1],
  window: c.window[0] * c.window[1],
  places: c.places[0] * c.places[1],
});

function rangesOfImages(c: Convolution, count: number, threads: number): readonly Range[] {
  const { window, places } = sizes(c);
  const work = c.batch * c.channels * c.outputs * window * places;
  const whole = [{ begin: 0, count }];
  return threads === 1 || work < WORTH_DIVIDING ? whole : (rangesOf(count, threads) ?? whole);
}

export function slidingParts({ convolution: c, image, kernel, out }: ConvolutionStep, threads: number): Part[] {
  const { image: size, window, places } = sizes(c);
  const at = (buffer: number, elements = 0): Place => ({ buffer, offset: elements * BYTES });
  // A single image is shared by its outputs.
  if (c.batch === 1) {
    return rangesOfImages(c, c.outputs, threads).map(({ begin, count }) => ({
      kind: "convolution",
      convolution: { ...c, outputs: count },
      image: at(image),
      kernel: at(kernel, begin * c.channels * window),
      out: at(out, begin * places),
    }));
  }
  return rangesOfImages(c, c.batch, threads).map(({ begin, count }) => ({
    kind: "convolution",
    convolution: { ...c, batch: count },
    image: at(image, begin * c.channels * size),
    kernel: at(kernel),
    out: at(out, begin * c.outputs * places),
  }));
}

/** Memory of one thread's own, in bytes: where it copies windows, and where a product of them goes. */
interface Tile {
  readonly images: number;
  readonly windows: number;
  readonly kernels: number;
  readonly product: number;
}

function tileOf(c: Convolution): Tile {
  const { window, places } = sizes(c);
  const rows = c.batch * places;
  const images = Math.max(1, Math.min(Math.floor(TILE / (rows * window)), Math.ceil(c.channels / 2)));
  return {
    images,
    windows: rows * images * window * BYTES,
    kernels: images === 1 ? 0 : c.outputs * images * window * BYTES,
    product: rows * c.outputs * BYTES,
  };
}

export function tileBytes(step: Step): number {
  if (step.kind !== "convolution" || step.how !== "correlate") return 0;
  const { windows, kernels, product } = tileOf(step.convolution);
  return windows + kernels + product;
}

export interface Means {
  /** The number of a kernel. */
  add(kernel: Kernel): number;
  /** Where a thread's tile is. */
  readonly tiles: readonly number[];
  /** Where each thread's sums are; the first one's are the result. */
  readonly sums: readonly Place[];
}

export function correlatingParts(step: ConvolutionStep, ranges: readonly Range[], means: Means): Part[] {
  const { convolution: c, image, kernel } = step;
  const { image: size, window, places } = sizes(c);
  const tile = tileOf(c);
  const length = c.batch * places * c.outputs;
  const clear = means.add(filling([{ buffer: 0, length }]));
  const add = means.add(adding(length));
  return ranges.map(({ begin, count }, thread): Part => {
    const [windows, kernels, product] = [0, tile.windows, tile.windows + tile.kernels].map((offset): Place => ({
      at: means.tiles[thread]! + offset,
    })) as [Place, Place, Place];
    const sums = means.sums[thread]!;
    const run = (which: number, ...of: Place[]): Part => ({ kind: "kernel", kernel: which, places: of, rest: [0] });
    const round = (images: number, from: number, times: number): Part[] => {
      const at = (buffer: number, each: number): Place => ({
        buffer,
        offset: from * each * BYTES,
        round: images * each * BYTES,
      });
      const pixels = at(image, c.batch * size);
      const given = at(kernel, c.outputs * window);
      const copied = images === 1 ? [] : [run(means.add(joined(c, images)), given, kernels)];
      const right = images === 1 ? given : kernels;
      const last = outputsLast(c);
      const contraction: Contraction = {
        batch: 1,
        rows: last ? c.batch * places : c.outputs,
        columns: last ? c.outputs : c.batch * places,
        inner: images * window,
        leftTransposed: false,
        rightTransposed: true,
      };
      const sides = last ? { left: windows, right } : { left: right, right: windows };
      return [
        // Zeros around the images stay where they are from one round to the next.
        run(means.add(filling([{ buffer: 0, length: (tile.windows / BYTES / tile.images) * images }])), windows),
        {
          kind: "rounds",
          times,
          parts: [
            run(means.add(windowsKernel(c, images)), pixels, windows),
            ...copied,
            { kind: "contraction", contraction, ...sides, out: product },
            run(add, product, sums),
          ],
        },
      ];
    };
    const images = Math.min(tile.images, count);
    const [times, rest] = [Math.floor(count / images), count % images];
    return {
      kind: "rounds",
      times: 1,
      parts: [
        run(clear, sums),
        ...round(images, begin, times),
        ...(rest > 0 ? round(rest, begin + times * images, 1) : []),
      ],
    };
  });
}

export const correlationRanges = (c: Convolution, threads: number): readonly Range[] =>
  rangesOfImages(c, c.channels, threads);

const nothing = { name: "convolution", outer: [], values: [], statements: [] };

const filling = (lengths: readonly { readonly buffer: number; readonly length: number }[]): Kernel => ({
  ...nothing,
  buffers: lengths.length,
  clear: lengths.map((each) => ({ ...each, fn: "add", dtype: "float32" })),
});

const adding = (length: number): Kernel => {
  const access = (buffer: number) => ({ buffer, offset: 0, outer: [], inner: [1] });
  return {
    ...nothing,
    buffers: 2,
    values: [{ kind: "load", dtype: "float32", from: access(0) }],
    statements: [{ kind: "accumulate", fn: "add", inner: [length], value: 0, to: access(1) }],
  };
};

/** Kernels [images, outputs, …window] as [outputs, images, …window]. */
function joined({ outputs, window }: Convolution, images: number): Kernel {
  const size = window[0] * window[1];
  const [from, to] = [
    [outputs * size, size],
    [size, images * size],
  ].map((outer, buffer) => ({ buffer, offset: 0, outer, inner: [1] }));
  return {
    ...nothing,
    buffers: 2,
    outer: [images, outputs],
    values: [{ kind: "load", dtype: "float32", from: from! }],
    statements: [{ kind: "store", inner: [size], value: 0, to: to! }],
  };
}
