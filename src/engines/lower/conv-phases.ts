// A convolution of an image with zeros between its numbers, which the gradient of a strided one is: as many convolutions
// of the image as it is as there are places between two of its numbers. Each has the taps of the kernel that do not meet
// zeros, and its results lie apart by as much.
import type { GraphBuilder } from "./builder.ts";
import type { ConvParams } from "./conv.ts";
import type { Arg } from "./graph.ts";

/** What one phase is along one dimension: its places, the first of its taps and how many, the padding of the image. */
interface Phase {
  readonly places: number;
  readonly tap: number;
  readonly taps: number;
  readonly padding: readonly [before: number, after: number];
}

function phaseOf(at: number, apart: number, places: number, window: number, size: number, before: number): Phase {
  const count = Math.max(Math.ceil((places - at) / apart), 0);
  const tap = (((before - at) % apart) + apart) % apart;
  const taps = Math.max(Math.ceil((window - tap) / apart), 0);
  // The first number of the image that the first tap meets at the first place.
  const first = (at + tap - before) / apart;
  return { places: count, tap, taps, padding: [0 - first, first + count - 1 + taps - 1 - (size - 1)] };
}

/** Can it be divided so? Its own strides and the kernel's dilation are 1. */
export const hasPhases = ({ strides, lhsDilation, rhsDilation }: ConvParams): boolean =>
  lhsDilation.some((n) => n > 1) && [...strides, ...rhsDilation].every((n) => n === 1);

type Convolve = (
  image: Arg,
  kernel: Arg,
  padding: readonly (readonly [number, number])[],
  shape: readonly number[],
) => Arg;

/** Images [batch, channels, height, width] and kernels of as many dimensions; `shape` is that of the result. */
export function inPhases(
  graph: GraphBuilder,
  [image, kernel]: readonly [Arg, Arg],
  { lhsDilation, padding }: ConvParams,
  shape: readonly number[],
  convolve: Convolve,
): Arg {
  const [batch, outputs, ...places] = shape as [number, number, ...number[]];
  const [rows, columns] = lhsDilation.map((apart, axis) =>
    Array.from({ length: apart }, (_, at) =>
      phaseOf(at, apart, places[axis]!, kernel.view.shape[axis + 2]!, image.view.shape[axis + 2]!, padding[axis]![0]),
    ),
  ) as [Phase[], Phase[]];
  const made: Arg[] = [];
  const at: number[][] = [];
  for (const [i, row] of rows.entries()) {
    for (const [j, column] of columns.entries()) {
      const both = [row, column];
      if (both.some((phase) => phase.places === 0 || phase.taps === 0)) continue;
      const result = [batch, outputs, row.places, column.places];
      const taps = strided(graph, kernel, both, lhsDilation);
      const part = convolve(
        image,
        taps,
        both.map((phase) => phase.padding),
        result,
      );
      made.push(graph.move(part, { kind: "reshape", shape: [batch, outputs, row.places, 1, column.places, 1] }));
      at.push([0, 0, 0, i, 0, j]);
    }
  }
  const [high, wide] = [rows[0]!.places, columns[0]!.places];
  const apart = [batch, outputs, high, rows.length, wide, columns.length];
  const { dtype } = image.node;
  const whole = graph.node({ op: "assemble", args: made, places: at, shape: apart, dtype });
  const joined = graph.move(whole, {
    kind: "reshape",
    shape: [batch, outputs, high * rows.length, wide * columns.length],
  });
  return graph.move(joined, { kind: "slice", ranges: shape.map((n) => [0, n] as const) });
}

/** Of the kernel, every so many taps from the first of each phase on. */
function strided(graph: GraphBuilder, kernel: Arg, phases: readonly Phase[], apart: readonly number[]): Arg {
  const { shape } = kernel.view;
  const ranges = shape.map((n, axis): [number, number] => [axis < 2 ? 0 : phases[axis - 2]!.tap, n]);
  const from = graph.move(kernel, { kind: "slice", ranges });
  const taps = graph.move(from, { kind: "windows", window: [1, 1], strides: apart });
  return graph.move(taps, { kind: "reshape", shape: [...shape.slice(0, 2), ...phases.map((phase) => phase.taps)] });
}
