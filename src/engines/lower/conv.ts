// A convolution is a product of windows with the kernel, or one node.
import type { GraphBuilder } from "./builder.ts";
import type { Arg } from "./graph.ts";
import { hasPhases, inPhases } from "./conv-phases.ts";
import { sizeOf } from "../../core/arrays.ts";

export interface ConvParams {
  /** Dimensions in front, which both sides have. */
  readonly vmapDims: number;
  readonly strides: readonly number[];
  readonly padding: readonly (readonly [before: number, after: number])[];
  readonly lhsDilation: readonly number[];
  readonly rhsDilation: readonly number[];
}

/** Both sides of the product: images [batch, in, …] become [batch, 1, places…, inner], kernels [out, in, …] [1, out, 1…, inner]. */
export function windowsAndKernels(graph: GraphBuilder, [image, kernel]: readonly [Arg, Arg], params: ConvParams) {
  const front = image.view.shape.slice(0, params.vmapDims);
  const fixed = front.length + 2;
  // Places that a dilated kernel skips are places where it is 0.
  const y = dilate(graph, kernel, params.rhsDilation);
  const x = padded(graph, dilate(graph, image, params.lhsDilation), [
    ...Array.from({ length: fixed }, () => [0, 0] as const),
    ...params.padding,
  ]);
  const window = y.view.shape.slice(fixed);
  const windows = graph.move(x, { kind: "windows", window, strides: params.strides });
  const axes = windows.view.shape.map((_, i) => i);
  const spatial = window.length;
  const order = [
    ...axes.slice(0, fixed - 1),
    ...axes.slice(fixed, fixed + spatial),
    fixed - 1,
    ...axes.slice(fixed + spatial),
  ];
  const places = windows.view.shape.slice(fixed, fixed + spatial);
  const [batch, channels] = x.view.shape.slice(-2 - spatial) as [number, number];
  const inner = channels * sizeOf(window);
  const rows = graph.move(windows, { kind: "permute", order });
  const out = y.view.shape[front.length]!;
  return [
    graph.move(rows, { kind: "reshape", shape: [...front, batch, 1, ...places, inner] }),
    graph.move(y, { kind: "reshape", shape: [...front, 1, out, ...places.map(() => 1), inner] }),
  ] as const;
}

/**
 * A node, or several, of images without zeros between their numbers; `crops` are engines that read less than the whole
 * image (negative padding).
 */
export function undilated(
  graph: GraphBuilder,
  [image, kernel]: readonly [Arg, Arg],
  params: ConvParams,
  shape: readonly number[],
  crops: boolean,
): Arg {
  if (!crops && params.vmapDims === 0 && hasPhases(params)) {
    const lhsDilation = params.lhsDilation.map(() => 1);
    return inPhases(graph, [image, kernel], params, shape, (x, taps, padding, places) =>
      undilated(graph, [x, taps], { ...params, padding, lhsDilation }, places, false),
    );
  }
  const front = params.vmapDims + 2;
  const wide = dilate(graph, image, params.lhsDilation);
  const sides = (most: typeof Math.min): ConvParams["padding"] =>
    params.padding.map(([before, after]) => [most(before, 0), most(after, 0)] as const);
  const x = crops
    ? wide
    : padded(graph, wide, [...Array.from({ length: front }, () => [0, 0] as const), ...sides(Math.min)]);
  const padding = crops ? params.padding : sides(Math.max);
  const lhsDilation = params.lhsDilation.map(() => 1);
  const { dtype } = image.node;
  return graph.node({ op: "conv", args: [x, kernel], params: { ...params, padding, lhsDilation }, shape, dtype });
}

/** Puts zeros between the numbers of the last dimensions. */
function dilate(graph: GraphBuilder, x: Arg, dilation: readonly number[]): Arg {
  if (dilation.every((n) => n === 1)) return x;
  const { shape } = x.view;
  const front = shape.slice(0, shape.length - dilation.length);
  const last = shape.slice(front.length);
  const apart = graph.move(x, { kind: "reshape", shape: [...front, ...last.flatMap((n) => [n, 1])] });
  const wide = padded(graph, apart, [
    ...front.map(() => [0, 0] as const),
    ...dilation.flatMap((n) => [[0, 0] as const, [0, n - 1] as const]),
  ]);
  const joined = graph.move(wide, { kind: "reshape", shape: [...front, ...last.map((n, i) => n * dilation[i]!)] });
  const ranges = [
    ...front.map((n) => [0, n] as const),
    ...last.map((n, i) => [0, Math.max((n - 1) * dilation[i]! + 1, 0)] as const),
  ];
  return graph.move(joined, { kind: "slice", ranges });
}

/** Pads with zeros; negative padding crops. */
function padded(graph: GraphBuilder, x: Arg, padding: readonly (readonly [number, number])[]): Arg {
  const cut = graph.move(x, {
    kind: "slice",
    ranges: x.view.shape.map((n, i) => [Math.max(-padding[i]![0], 0), n - Math.max(-padding[i]![1], 0)] as const),
  });
  const added = padding.map((sides) => sides.map((n) => Math.max(n, 0)) as [number, number]);
  if (added.every(([before, after]) => before === 0 && after === 0)) return cut;
  const shape = cut.view.shape.map((n, i) => n + added[i]![0] + added[i]![1]);
  const { dtype } = cut.node;
  return graph.node({ op: "assemble", args: [cut], places: [added.map(([before]) => before)], shape, dtype });
}
