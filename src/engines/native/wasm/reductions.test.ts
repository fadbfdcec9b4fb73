import { expect, it } from "vitest";
import { runKernel } from "../../../../tests/support/run-kernel.ts";
import type { Kernel } from "../kernel.ts";

const extreme = (fn: "max" | "min", length: number): Kernel => ({
  name: fn,
  buffers: 2,
  outer: [],
  values: [{ kind: "load", dtype: "float32", from: { buffer: 0, offset: 0, outer: [], inner: [1] } }],
  statements: [{ kind: "reduce", fn, inner: [length], value: 0, to: { buffer: 1, offset: 0, outer: [], inner: [] } }],
});

const reduced = (fn: "max" | "min", numbers: readonly number[]): number => {
  const out = new Float32Array(1);
  runKernel(extreme(fn, numbers.length), [Float32Array.from(numbers), out]);
  return out[0]!;
};

it.each(["max", "min"] as const)("the %s of a row is NaN wherever in it a NaN is, and whatever follows", (fn) => {
  const row = Array.from({ length: 11 }, (_, i) => 5 - i);
  expect(reduced(fn, row)).toBe(fn === "max" ? 5 : -5);
  for (const at of row.keys()) expect(reduced(fn, row.with(at, Number.NaN))).toBeNaN();
});

it.each(["max", "min"] as const)("the %s of infinities is one of them", (fn) => {
  expect(
    reduced(
      fn,
      Array.from({ length: 8 }, () => -Infinity),
    ),
  ).toBe(-Infinity);
  expect(
    reduced(
      fn,
      Array.from({ length: 8 }, () => Infinity),
    ),
  ).toBe(Infinity);
});
