// Threefry-2x32 with 20 rounds, as jax-js computes it: the same key gives the same bits on every engine.
import { sizeOf } from "../../../core/arrays.ts";
import type { Value } from "./types.ts";
import type { HloWriter } from "./writer.ts";

const ROTATIONS = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;
const PARITY = 0x1bd11bda;

/** The counter restarts for each key, every `period` numbers. `mode` says which of the two words is the result. */
export function randomBits(
  writer: HloWriter,
  [first, second]: readonly [Value, Value],
  period: number,
  mode: "xor" | 0 | 1,
): Value {
  const { shape } = first;
  const at = (value: number): Value => writer.constant(value, shape, "ui32");
  const add = (a: Value, b: Value): Value => writer.binary("add", a, b);
  const xor = (a: Value, b: Value): Value => writer.binary("xor", a, b);
  const rotate = (x: Value, by: number): Value =>
    writer.binary("or", writer.binary("shift_left", x, at(by)), writer.binary("shift_right_logical", x, at(32 - by)));

  const rows = sizeOf(shape) / period;
  const along = writer.iota([rows, period], 1, "ui32");
  const keys = [first, second, xor(xor(first, second), at(PARITY))];
  let x = first;
  let y = add(writer.reshape(along, shape), second);
  for (let group = 0; group < 5; group++) {
    for (const by of ROTATIONS[group % 2]!) {
      x = add(x, y);
      y = xor(rotate(y, by), x);
    }
    x = add(x, keys[(group + 1) % 3]!);
    y = add(add(y, keys[(group + 2) % 3]!), at(group + 1));
  }
  return mode === "xor" ? xor(x, y) : mode === 0 ? x : y;
}
