// Rows in ascending order, NaN last, equal numbers as they were.
import { expect, it } from "vitest";
import { EngineMemory } from "./memory.ts";
import { sortRows } from "./program.ts";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

function sorted(
  kind: "sort" | "argsort",
  values: number[],
  length: number,
  dtype: "float32" | "uint32" = "float32",
): number[] {
  const memory = new EngineMemory();
  const [from, to] = [memory.allocate(values.length * 4), memory.allocate(values.length * 4)];
  const View = dtype === "float32" ? Float32Array : Uint32Array;
  new View(memory.memory.buffer, from, values.length).set(values);
  sortRows(memory, { kind, from: 0, to: 1, rows: values.length / length, length, dtype }, from, to);
  const Out = kind === "argsort" ? Int32Array : View;
  return Array.from(new Out(memory.memory.buffer, to, values.length));
}

it("sorts each row by itself", () => {
  expect(sorted("sort", [3, -1, 2, 9, 8, 7], 3)).toEqual([-1, 2, 3, 7, 8, 9]);
  expect(sorted("argsort", [3, -1, 2, 9, 8, 7], 3)).toEqual([1, 2, 0, 2, 1, 0]);
});

it("puts NaN last and infinities where they belong", () => {
  expect(sorted("sort", [nan, inf, -inf, 0, nan], 5)).toEqual([-inf, 0, inf, nan, nan]);
  expect(sorted("argsort", [nan, inf, -inf, inf, nan, 0], 6)).toEqual([2, 5, 1, 3, 0, 4]);
});

it("keeps equal numbers in their order, and large whole ones apart", () => {
  expect(sorted("argsort", [1, 0, 1, 0, 1], 5)).toEqual([1, 3, 0, 2, 4]);
  expect(sorted("sort", [2 ** 32 - 1, 1, 2 ** 31], 3, "uint32")).toEqual([1, 2 ** 31, 2 ** 32 - 1]);
});
