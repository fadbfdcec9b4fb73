import { expect, test } from "vitest";
import { gather, toRows } from "./indexed.ts";

const wide = Float32Array.from({ length: 4 * 30 }, (_, i) => i);

test("rows are copied in order, short rows and long ones alike", () => {
  const rows = toRows("data", { x: { data: wide, shape: [4, 30] }, y: Int32Array.of(10, 11, 12, 13) });
  const batch = gather(rows, Uint32Array.of(3, 1, 0, 2), 1, 3);
  expect(batch.y).toEqual({ data: Int32Array.of(11, 10), shape: [2] });
  expect(batch.x!.shape).toEqual([2, 30]);
  expect(Array.from(batch.x!.data)).toEqual([...wide.slice(30, 60), ...wide.slice(0, 30)]);
});

test("without an order it is a copy of the range, never a view", () => {
  const rows = toRows("data", { x: { data: wide, shape: [4, 5, 6], dtype: "float32" } });
  const { x } = gather(rows, undefined, 1, 2);
  expect(x).toEqual({ data: wide.slice(30, 60), shape: [1, 5, 6], dtype: "float32" });
  expect(x!.data.buffer).not.toBe(wide.buffer);
});

test("element types stay, and a Node Buffer becomes a plain Uint8Array", () => {
  const types = [Float64Array, Int8Array, Uint8ClampedArray, Int16Array, Uint16Array, Uint32Array];
  for (const type of types)
    expect(gather(toRows("d", { x: type.of(1, 2) }), undefined, 0, 1).x!.data).toEqual(type.of(1));
  const bytes = gather(toRows("d", { x: Buffer.from([1, 2, 3]) }), Uint32Array.of(2, 0, 1), 0, 2).x!.data;
  expect(bytes.constructor).toBe(Uint8Array);
  expect(bytes).toEqual(Uint8Array.of(3, 1));
});

test("mismatching lengths, scalars and empty records are named", () => {
  expect(() => toRows("DataLoader", { x: new Float32Array(3), y: new Int32Array(2) })).toThrow(
    "DataLoader: `x` has 3 samples but `y` has 2.",
  );
  expect(() => toRows("DataLoader", { x: { data: Float32Array.of(1), shape: [] } })).toThrow("`x` is a scalar");
  expect(() => toRows("DataLoader", {})).toThrow("has no fields");
  expect(() => toRows("DataLoader", { x: { data: wide, shape: [4, 31] } })).toThrow(
    "holds 124 numbers, but data has 120",
  );
});
