// How a node looks at another one's numbers: a shape with a stride for each dimension. Moving an array about (reshape,
// transpose, broadcast, …) changes the look and nothing else.
import { sizeOf } from "../../core/arrays.ts";

/** Steps that lead from an array to a view of it. They can be repeated on another view of the same shape. */
export type Move =
  | { readonly kind: "reshape"; readonly shape: readonly number[] }
  | { readonly kind: "permute"; readonly order: readonly number[] }
  /** NumPy's broadcasting: dimensions of 1 repeat, and so do new ones in front. */
  | { readonly kind: "broadcast"; readonly shape: readonly number[] }
  | { readonly kind: "slice"; readonly ranges: readonly (readonly [from: number, to: number])[] }
  | { readonly kind: "flip"; readonly axes: readonly number[] }
  /** The last axes become places of windows, followed by the places in a window. */
  | { readonly kind: "windows"; readonly window: readonly number[]; readonly strides: readonly number[] };

/** In elements of the contiguous, row-major array that is looked at. Stride 0 repeats; a negative one goes backwards. */
export interface View {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** How the view came about, from the whole array on. */
  readonly moves: readonly Move[];
}

// Loops, not callbacks: a program of many layers asks for these a million times, and in the first step nothing is optimized.

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Strides of a row-major array. */
export function rowMajor(shape: readonly number[]): number[] {
  const strides = shape.slice();
  for (let i = shape.length - 1, stride = 1; i >= 0; stride *= shape[i]!, i--) strides[i] = stride;
  return strides;
}

/** The whole array as it is. */
export const whole = (shape: readonly number[]): View => ({
  shape,
  strides: rowMajor(shape),
  offset: 0,
  moves: NO_MOVES,
});

const NO_MOVES: readonly Move[] = [];

/** Dimensions of 1 may have any stride, and an empty view looks at nothing. */
export function isWhole({ shape, strides, offset }: View): boolean {
  if (offset !== 0) return false;
  for (let i = shape.length - 1, expected = 1; i >= 0; expected *= shape[i]!, i--) {
    if (shape[i] !== 1 && strides[i] !== expected) return sizeOf(shape) === 0;
  }
  return true;
}

/** One step further; undefined when strides cannot express it, so that the numbers have to be copied first. */
export function move(view: View, step: Move): View | undefined {
  const moved = STEPS[step.kind](view, step as never);
  if (!moved) return undefined;
  // Programs of many layers make a million of these: spreading `moved` takes much longer.
  const { shape, strides, offset } = moved;
  return { shape, strides, offset, moves: [...view.moves, step] };
}

/** Several steps, such as those of another view. */
export function moveAll(view: View | undefined, steps: readonly Move[]): View | undefined {
  return steps.reduce((at, step) => at && move(at, step), view);
}

/** Both in turn. */
export const following = (first: readonly Move[], then: readonly Move[]): readonly Move[] =>
  then.length === 0 ? first : first.length === 0 ? then : [...first, ...then];

type Look = Omit<View, "moves">;
type Steps = { readonly [K in Move["kind"]]: (view: View, step: Extract<Move, { kind: K }>) => Look | undefined };

const STEPS: Steps = {
  reshape: (view, { shape }) => reshape(view, shape),
  permute: ({ shape, strides, offset }, { order }) => ({
    shape: order.map((axis) => shape[axis]!),
    strides: order.map((axis) => strides[axis]!),
    offset,
  }),
  broadcast({ shape, strides, offset }, { shape: target }) {
    const added = target.length - shape.length;
    const repeats = (i: number): boolean => i < added || (shape[i - added] === 1 && target[i] !== 1);
    return { shape: target, strides: target.map((_, i) => (repeats(i) ? 0 : strides[i - added]!)), offset };
  },
  slice: ({ strides, offset }, { ranges }) => ({
    shape: ranges.map(([from, to]) => to - from),
    strides,
    offset: ranges.reduce((at, [from], i) => at + from * strides[i]!, offset),
  }),
  flip: ({ shape, strides, offset }, { axes }) => ({
    shape,
    strides: strides.map((stride, i) => (axes.includes(i) ? -stride : stride)),
    offset: axes.reduce((at, i) => at + Math.max(shape[i]! - 1, 0) * strides[i]!, offset),
  }),
  windows({ shape, strides, offset }, { window, strides: steps }) {
    const kept = shape.length - window.length;
    const places = window.map((n, i) => Math.floor((shape[kept + i]! - n) / steps[i]!) + 1);
    return {
      shape: [...shape.slice(0, kept), ...places, ...window],
      strides: [
        ...strides.slice(0, kept),
        ...steps.map((step, i) => step * strides[kept + i]!),
        ...strides.slice(kept),
      ],
      offset,
    };
  },
};

/** Dimensions that follow each other without a gap are one; a reshape cuts these runs at other places. */
function reshape({ shape, strides, offset }: Look, target: readonly number[]): Look | undefined {
  if (sizeOf(shape) === 0) return { shape: target, strides: rowMajor(target), offset };
  const sizes: number[] = [];
  const steps: number[] = [];
  for (let i = 0; i < shape.length; i++) {
    const [size, stride] = [shape[i]!, strides[i]!];
    if (size === 1) continue;
    const last = sizes.length - 1;
    if (last >= 0 && steps[last] === stride * size) {
      sizes[last]! *= size;
      steps[last] = stride;
    } else {
      sizes.push(size);
      steps.push(stride);
    }
  }
  const out = target.map(() => 0);
  let run = sizes.length - 1;
  let left = sizes[run] ?? 1;
  let stride = steps[run] ?? 0;
  for (let i = target.length - 1; i >= 0; i--) {
    const size = target[i]!;
    if (size === 1) continue;
    if (left === 1) {
      run--;
      left = sizes[run]!;
      stride = steps[run]!;
    }
    if (left % size !== 0) return undefined;
    out[i] = stride;
    stride *= size;
    left /= size;
  }
  return { shape: target, strides: out, offset };
}
