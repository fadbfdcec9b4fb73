// A view of an array as operations of StableHLO. Most views are a transpose of a reshape, seen with repetitions: those are
// three operations at most, however many moves led to them. Others are repeated move by move.
import { sizeOf } from "../../../core/arrays.ts";
import { moveAll, whole, type Move, type View } from "../../lower/view.ts";
import { atPlaces } from "./windows.ts";
import type { HloWriter } from "./writer.ts";
import type { Shape, Value } from "./types.ts";

/** The whole array as the view shows it. */
export function seen(writer: HloWriter, value: Value, view: View): Value {
  if (view.moves.length === 0) return value;
  const { value: from, view: rest } = withoutCuts(writer, value, view);
  const tiled = rest && asTiles(writer, from, rest);
  if (!tiled) return replay(writer, value, view.moves);
  return writer.broadcast(tiled.value, tiled.dims, view.shape);
}

/** Only what the view does not repeat: its dimensions that are neither 1 nor repetitions, in order. */
export function seenOnce(writer: HloWriter, value: Value, view: View): Value {
  const { value: from, view: rest } = withoutCuts(writer, value, view);
  const tiled = rest && asTiles(writer, from, rest);
  if (tiled) return tiled.value;
  const full = replay(writer, value, view.moves);
  const once = view.shape.map((n, i) => (view.strides[i] === 0 ? 1 : n));
  const cut = writer.slice(
    full,
    once.map((n) => [0, n] as const),
  );
  return writer.reshape(
    cut,
    ownDims(view).map((i) => view.shape[i]!),
  );
}

/** Dimensions with numbers of their own. */
export const ownDims = ({ shape, strides }: View): number[] =>
  shape.flatMap((n, i) => (n !== 1 && strides[i] !== 0 ? [i] : []));

/** Does the moves up to the last that leaves numbers out or turns them around, and shows what remains. */
function withoutCuts(writer: HloWriter, value: Value, view: View): { value: Value; view: View | undefined } {
  const last = view.moves.findLastIndex(({ kind }) => kind === "slice" || kind === "flip" || kind === "windows");
  if (last < 0) return { value, view };
  const from = replay(writer, value, view.moves.slice(0, last + 1));
  return { value: from, view: moveAll(whole(from.shape), view.moves.slice(last + 1)) };
}

/** Undefined when the view is no rearrangement of the whole array. */
function asTiles(writer: HloWriter, value: Value, view: View): { value: Value; dims: number[] } | undefined {
  if (view.offset !== 0 || sizeOf(value.shape) === 0) return undefined;
  const dims = ownDims(view);
  const outer = [...dims].sort((a, b) => view.strides[b]! - view.strides[a]!);
  let expected = 1;
  for (const i of outer.toReversed()) {
    if (view.strides[i] !== expected) return undefined;
    expected *= view.shape[i]!;
  }
  if (expected !== sizeOf(value.shape)) return undefined;
  const runs = writer.reshape(
    value,
    outer.map((i) => view.shape[i]!),
  );
  const order = dims.map((i) => outer.indexOf(i));
  return { value: writer.transpose(runs, order), dims };
}

/** Move by move, which is always right. */
function replay(writer: HloWriter, value: Value, moves: readonly Move[]): Value {
  return moves.reduce((at, move) => step(writer, at, move), value);
}

function step(writer: HloWriter, value: Value, move: Move): Value {
  switch (move.kind) {
    case "reshape":
      return writer.reshape(value, move.shape);
    case "permute":
      return writer.transpose(value, move.order);
    case "broadcast":
      return spread(writer, value, move.shape);
    case "slice":
      return writer.slice(value, move.ranges);
    case "flip":
      return writer.reverse(value, move.axes);
    case "windows":
  }
  return windows(writer, value, move.window, move.strides);
}

/** NumPy's broadcasting. */
function spread(writer: HloWriter, value: Value, shape: Shape): Value {
  const added = shape.length - value.shape.length;
  // A repeated dimension of 1 is dropped first: then every dimension of the operand keeps its size.
  const kept = value.shape.flatMap((n, i) => (n === shape[i + added] ? [i] : []));
  const own = writer.reshape(
    value,
    kept.map((i) => value.shape[i]!),
  );
  return writer.broadcast(
    own,
    kept.map((i) => i + added),
    shape,
  );
}

/** The windows of the last axes: their places, and behind them the places in a window. */
function windows(writer: HloWriter, value: Value, window: Shape, strides: Shape): Value {
  const kept = value.shape.length - window.length;
  const [front, last] = [value.shape.slice(0, kept), value.shape.slice(kept)];
  const places = window.map((n, i) => Math.floor((last[i]! - n) / strides[i]!) + 1);
  if (window.every((n, i) => n === strides[i])) {
    // Windows side by side are a reshape.
    const used = writer.slice(
      value,
      [...front, ...places.map((n, i) => n * window[i]!)].map((n) => [0, n] as const),
    );
    const apart = writer.reshape(used, [...front, ...places.flatMap((n, i) => [n, window[i]!])]);
    const order = [...front.keys(), ...window.map((_, i) => kept + 2 * i), ...window.map((_, i) => kept + 2 * i + 1)];
    return writer.transpose(apart, order);
  }
  const parts = atPlaces(window).map((at) => {
    const ranges = at.map((from, i) => [from, from + (places[i]! - 1) * strides[i]! + 1, strides[i]!] as const);
    const part = writer.slice(value, [...front.map((n) => [0, n] as const), ...ranges]);
    return writer.reshape(part, [...front, ...places, 1]);
  });
  return writer.reshape(writer.concatenate(parts, kept + places.length), [...front, ...places, ...window]);
}
