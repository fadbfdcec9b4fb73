// Convolutions: of images by kernels, in groups, with steps between the numbers of either.
import type { Dim } from "../program.ts";
import { product } from "./contraction.ts";
import type { GraphBuilder, Value } from "./graph.ts";
import { wholes, type Lowering } from "./lowering.ts";
import { padded, slice } from "./slicing.ts";

type Pairs = readonly (readonly [before: number, after: number])[];

export function convolve(at: Lowering): Value {
  const { graph, args, params, shape, dtype, out, fail } = at;
  if (out[0]!.dtype !== "float32") fail(`a convolution of ${out[0]!.dtype}`);
  const vmapDims = params.vmapDims as number;
  const [image, kernel] = args as [Value, Value];
  if (vmapDims > 1) fail("a convolution that is mapped over several dimensions");
  const padding = params.padding as Pairs;
  if (padding.flat().some((size) => size < 0)) fail("a convolution with padding below 0");
  const attributes = {
    strides: wholes(params.strides),
    dilations: wholes(params.rhsDilation),
    pads: [...padding.map(([before]) => before), ...padding.map(([, after]) => after)],
  };
  const apart = (x: Value): Value => dilated(graph, x, wholes(params.lhsDilation), fail);
  if (vmapDims === 0) return graph.node("Conv", [apart(image), kernel], shape, dtype, attributes);

  // A dimension in front of both is groups of channels: [g, n, c, …] by [g, o, c, …].
  const [groups, rows, ...inside] = image.shape as [Dim, Dim, ...Dim[]];
  const [kernels, outs, ...window] = kernel.shape as [Dim, Dim, ...Dim[]];
  if (groups !== kernels || typeof groups !== "number")
    fail("a convolution whose groups differ between image and kernel");
  const order = [1, 0, ...inside.map((_, i) => i + 2)];
  const channels = [product([groups, inside[0]!])!, ...inside.slice(1)];
  const images = graph.reshape(graph.transpose(image, order), [rows, ...channels]);
  const together = graph.reshape(kernel, [product([groups, outs])!, ...window]);
  const places = shape.slice(3);
  const flat = [rows, product([groups, outs])!, ...places];
  const result = graph.node("Conv", [apart(images), together], flat, dtype, { ...attributes, group: groups as number });
  return graph.transpose(graph.reshape(result, [rows, groups, outs, ...places]), [
    1,
    0,
    ...shape.slice(2).map((_, i) => i + 2),
  ]);
}

/** Puts zeros between the numbers of the last dimensions. */
function dilated(graph: GraphBuilder, x: Value, dilation: readonly number[], fail: Lowering["fail"]): Value {
  if (dilation.every((step) => step === 1)) return x;
  const front = x.shape.slice(0, x.shape.length - dilation.length);
  const last = x.shape.slice(front.length).map((size) => (typeof size === "number" ? size : fail("a dilated batch")));
  const singles = graph.reshape(x, [...front, ...last.flatMap((size) => [size, 1])]);
  const width = [
    ...front.map(() => [0, 0] as const),
    ...dilation.flatMap((step) => [[0, 0] as const, [0, step - 1] as const]),
  ];
  const wide = padded(graph, singles, width, [...front, ...last.flatMap((size, i) => [size, dilation[i]!])], fail);
  const joined = graph.reshape(wide, [...front, ...last.map((size, i) => size * dilation[i]!)]);
  const kept = last.map((size, i) => (size - 1) * dilation[i]! + 1);
  const ranges = kept.map((to, i) => ({ axis: front.length + i, from: 0, to }));
  return slice(graph, joined, ranges, [...front, ...kept]);
}
