// Loops become few and long where every access allows it, and sums keep their order.
import { expect, it } from "vitest";
import type { Access, Kernel, Statement } from "../kernel.ts";
import { collapse } from "./collapse.ts";

const access = (outer: number[], inner: number[], buffer = 0): Access => ({ buffer, offset: 0, outer, inner });
const kernel = (outer: number[], inner: number[], from: Access, statement: Partial<Statement>): Kernel => ({
  name: "",
  buffers: 2,
  outer,
  values: [{ kind: "load", from, dtype: "float32" }],
  statements: [{ inner, value: 0, ...statement } as Statement],
});
const loops = ({ outer, statements }: Kernel): [readonly number[], readonly number[]] => [outer, statements[0]!.inner];

it("makes one loop of an array that is read and written as it lies", () => {
  const straight = access([12, 4], [1]);
  const copy = kernel([2, 3], [4], straight, { kind: "store", to: { ...straight, buffer: 1 } });
  expect(loops(collapse(copy))).toEqual([[], [24]]);
});

it("keeps the loops that a transpose needs, and drops those of one", () => {
  const turned = kernel([3, 1], [4], access([1, 0], [3]), { kind: "store", to: access([4, 0], [1], 1) });
  expect(loops(collapse(turned))).toEqual([[3], [4]]);
});

it("keeps a loop whose coordinate someone asks for", () => {
  const counted: Kernel = {
    ...kernel([], [3, 4], access([], [4, 1]), { kind: "store", to: access([], [4, 1], 1) }),
    values: [{ kind: "index", loop: "inner", axis: 0, dtype: "int32" }],
  };
  expect(loops(collapse(counted))).toEqual([[], [3, 4]]);
});

it("adds up along one loop only where that is in the same order", () => {
  const sum = (last: number): Kernel =>
    kernel([2], [3, last], access([3 * last], [last, 1]), { kind: "reduce", fn: "add", to: access([1], [], 1) });
  expect(loops(collapse(sum(8)))).toEqual([[2], [24]]);
  expect(loops(collapse(sum(7)))).toEqual([[2], [3, 7]]);
});

it("goes along the longer side of a transpose whose rows are short", () => {
  const turned = kernel([100], [6], access([1], [100]), { kind: "store", to: access([6], [1], 1) });
  const { outer, values, statements } = collapse(turned);
  expect([outer, statements[0]!.inner]).toEqual([[6], [100]]);
  expect(values[0]).toMatchObject({ from: access([100], [1]) });
  expect(statements[0]).toMatchObject({ to: access([1], [6], 1) });
});
