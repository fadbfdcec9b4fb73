// Parts of arrays: slices, windows, and zeros around them.
import { makeDim, parseDim, type Dim } from "../program.ts";
import { sameShape, type GraphBuilder, type Value } from "./graph.ts";
import { wholes, type Lowering } from "./lowering.ts";

interface Range {
  readonly axis: number;
  readonly from: Dim;
  readonly to: Dim;
  readonly step?: number;
}

/** Past the first element, for slices that run backwards. */
const BEFORE_START = -(2 ** 31);

export function slice(graph: GraphBuilder, x: Value, ranges: readonly Range[], shape: readonly Dim[]): Value {
  if (ranges.length === 0) return x;
  const inputs = [
    x,
    graph.sizes(ranges.map(({ from }) => from)),
    graph.sizes(ranges.map(({ to }) => to)),
    graph.whole(ranges.map(({ axis }) => axis)),
    graph.whole(ranges.map(({ step = 1 }) => step)),
  ];
  return graph.node("Slice", inputs, shape, x.dtype);
}

export function shrink({ graph, args: [x], params, shape }: Lowering): Value {
  const ranges = (params.slice as readonly (readonly [Dim, Dim])[]).map(([from, to], axis) => ({ axis, from, to }));
  const changed = ranges.filter(({ axis, from, to }) => from !== 0 || to !== x!.shape[axis]);
  return slice(graph, x!, changed, shape);
}

export function flip({ graph, args: [x], params, shape }: Lowering): Value {
  const ranges = wholes(params.axis).map((axis) => ({ axis, from: -1, to: BEFORE_START, step: -1 }));
  return slice(graph, x!, ranges, shape);
}

export function pad({ graph, args: [x], params, shape, fail }: Lowering): Value {
  return padded(graph, x!, params.width as readonly (readonly [Dim, Dim])[], shape, fail);
}

/** Zeros before and after each dimension. */
export function padded(
  graph: GraphBuilder,
  x: Value,
  width: readonly (readonly [before: Dim, after: Dim])[],
  shape: readonly Dim[],
  fail: Lowering["fail"],
): Value {
  if (sameShape(x.shape, shape)) return x;
  if (width.flat().some((size) => typeof size === "number" && size < 0)) fail("padding below 0");
  // Not every runtime pads truth values.
  const numbers = x.dtype === "bool" ? graph.cast(x, "int32") : x;
  const sizes = graph.sizes([...width.map(([before]) => before), ...width.map(([, after]) => after)]);
  return graph.cast(graph.node("Pad", [numbers, sizes], shape, numbers.dtype), x.dtype);
}

/** [… h, w] with windows of [kh, kw] becomes [… places, kh, kw]: a slice for each place in the window. */
export function windows({ graph, args: [x], params, shape }: Lowering): Value {
  const [window, strides] = [wholes(params.window), wholes(params.strides)];
  const front = x!.shape.length - window.length;
  const places = shape.slice(0, shape.length - window.length);
  const offsets = window.reduce<number[][]>(
    (lists, size) => lists.flatMap((list) => Array.from({ length: size }, (_, i) => [...list, i])),
    [[]],
  );
  const single = [...places, 1];
  const parts = offsets.map((offset) => {
    const ranges = offset.map((from, i) => {
      const count = places[front + i]!;
      return { axis: front + i, from, to: endOf(from, count, strides[i]!), step: strides[i]! };
    });
    return graph.reshape(slice(graph, x!, ranges, places), single);
  });
  const all = [...places, parts.length];
  const joined = graph.node("Concat", parts, all, x!.dtype, { axis: places.length });
  return graph.reshape(joined, shape);
}

/** One past the last element of so many, beginning at `from`. */
function endOf(from: number, count: Dim, stride: number): Dim {
  const { perRow, fixed } = parseDim(count)!;
  return makeDim(perRow * stride, (fixed - 1) * stride + from + 1);
}
