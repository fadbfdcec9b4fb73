import { describe, expect, it } from "vitest";
import type { Access, Kernel, KernelValue } from "../kernel.ts";
import { PhaseValues } from "./phases.ts";
import { phasesOf } from "./phases.ts";

const at = (...inner: number[]): Access => ({ buffer: 0, offset: 0, outer: [8], inner });
const load = (from: Access): KernelValue => ({ kind: "load", dtype: "float32", from });
const map = (fn: "add" | "mul", ...args: number[]): KernelValue => ({ kind: "map", dtype: "float32", fn, args });

/** A row of eight, written side by side unless `to` says otherwise. */
function storing(values: KernelValue[], to: Access = at(1)): PhaseValues {
  const statements: Kernel["statements"] = [{ kind: "store", inner: [8], value: values.length - 1, to }];
  const kernel: Kernel = { name: "k", buffers: 1, outer: [3], values, statements };
  return new PhaseValues(kernel, phasesOf(kernel)[0]!);
}

describe("what the loop changes", () => {
  it("is what it loads at another place each time, and what is made of that", () => {
    const values = storing([load(at(0)), load(at(1)), map("mul", 0, 0), map("add", 2, 1)]);
    expect([0, 1, 2, 3].map((index) => values.varies(index))).toEqual([false, true, false, true]);
    expect(values.varying()).toEqual([1, 3]);
  });

  it("a dimension of one place changes nothing", () => {
    const kernel: Kernel = {
      name: "k",
      buffers: 1,
      outer: [3],
      values: [load(at(5))],
      statements: [{ kind: "store", inner: [1], value: 0, to: at(5) }],
    };
    expect(new PhaseValues(kernel, phasesOf(kernel)[0]!).varying()).toEqual([]);
  });

  it("an index that changes makes what it leads to change", () => {
    const index: KernelValue = { kind: "index", dtype: "int32", loop: "inner", axis: 0 };
    const values = storing([index, load({ ...at(0), at: [{ value: 0, stride: 4 }] })]);
    expect(values.varying()).toEqual([0, 1]);
    expect(values.canBeWide()).toBe(false);
  });
});

describe("four places at once", () => {
  it("are side by side, every other one, or the same number", () => {
    expect(storing([load(at(1)), load(at(0)), map("add", 0, 1)]).canBeWide()).toBe(true);
    expect(storing([load(at(2))], at(2)).canBeWide()).toBe(true);
    expect(storing([load(at(3))]).canBeWide()).toBe(false);
    expect(storing([load(at(1))], at(3)).canBeWide()).toBe(false);
  });

  it("are shifted by a known number only", () => {
    const shift = (by: KernelValue) =>
      storing([{ ...load(at(1)), dtype: "uint32" }, by, { kind: "map", dtype: "uint32", fn: "shl", args: [0, 1] }]);
    expect(shift({ kind: "literal", dtype: "uint32", value: 3 }).canBeWide()).toBe(true);
    expect(shift({ ...load(at(1)), dtype: "uint32" }).canBeWide()).toBe(false);
  });
});
