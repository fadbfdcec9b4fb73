// Windows of an array: sums and maxima over them, and their numbers added up again.
import type { HloWriter, Combine } from "./writer.ts";
import { neutral, region } from "./writer.ts";
import { tensor, typeOf, type Shape, type Value } from "./types.ts";

/** Every place in a window, in row-major order. */
export function atPlaces(window: Shape): number[][] {
  return window.reduce<number[][]>(
    (places, n) => places.flatMap((place) => Array.from({ length: n }, (_, i) => [...place, i])),
    [[]],
  );
}

/** Combines the numbers of each window over the last axes. */
export function reduceWindows(writer: HloWriter, value: Value, combine: Combine, window: Shape, strides: Shape): Value {
  const kept = value.shape.length - window.length;
  const front = value.shape.slice(0, kept);
  const ones = front.map(() => 1);
  const places = window.map((n, i) => Math.floor((value.shape[kept + i]! - n) / strides[i]!) + 1);
  const shape = [...front, ...places];
  const initial = writer.constant(neutral(combine, value.type), [], value.type);
  const list = (numbers: Shape): string => `array<i64: ${numbers.join(", ")}>`;
  const attributes = `<{window_dimensions = ${list([...ones, ...window])}, window_strides = ${list([...ones, ...strides])}}>`;
  return writer.emit(
    `"stablehlo.reduce_window"(${value.name}, ${initial.name}) ${attributes} ${region(combine, value.type)} : (${typeOf(value)}, ${typeOf(initial)}) -> ${tensor(shape, value.type)}`,
    shape,
    value.type,
  );
}

/** Adds windows [front…, places…, window…] up where they lie in an array of `shape`. */
export function addWindows(writer: HloWriter, value: Value, window: Shape, strides: Shape, shape: Shape): Value {
  const kept = shape.length - window.length;
  const front = shape.slice(0, kept);
  const places = value.shape.slice(kept, kept + window.length);
  const zeros = front.map(() => 0);
  if (window.every((n, i) => n === strides[i])) {
    const order = [...front.keys(), ...window.flatMap((_, i) => [kept + i, kept + window.length + i])];
    const side = places.map((n, i) => n * window[i]!);
    const joined = writer.reshape(writer.transpose(value, order), [...front, ...side]);
    return writer.pad(
      joined,
      shape.map(() => 0),
      shape,
    );
  }
  const parts = atPlaces(window).map((at) => {
    const whole = [...front, ...places].map((n) => [0, n] as const);
    const one = writer.slice(value, [...whole, ...at.map((from) => [from, from + 1] as const)]);
    const between = [...zeros, ...strides.map((n) => n - 1)];
    return writer.pad(writer.reshape(one, [...front, ...places]), [...zeros, ...at], shape, between);
  });
  return parts.reduce((sum, part) => writer.binary("add", sum, part));
}
