// Statements share a loop unless one waits for another's total.
import { expect, it } from "vitest";
import type { Kernel, KernelValue, Statement } from "../kernel.ts";
import { PhaseValues, phasesOf } from "./phases.ts";

const at = (buffer: number) => ({ buffer, offset: 0, outer: [1], inner: [1] });
const load = (buffer: number): KernelValue => ({ kind: "load", from: at(buffer), dtype: "float32" });
const reduced = (statement: number): KernelValue => ({ kind: "reduced", statement, dtype: "float32" });
const map = (...args: number[]): KernelValue => ({ kind: "map", fn: "add", args, dtype: "float32" });

const phases = (values: KernelValue[], statements: Statement[]): number[][] => {
  const kernel: Kernel = { name: "", buffers: 4, outer: [2], values, statements };
  return phasesOf(kernel).map((phase) => phase.statements.map(({ index }) => index));
};
const sum = (value: number): Statement => ({ kind: "reduce", fn: "add", inner: [5], value });
const store = (value: number): Statement => ({ kind: "store", inner: [5], value, to: at(3) });

it("puts what does not wait into one loop", () => {
  expect(phases([load(0), map(0, 0)], [sum(0), store(1), sum(1)])).toEqual([[0, 1, 2]]);
});

it("waits for a total, however it is used", () => {
  expect(phases([load(0), reduced(0), map(0, 1)], [sum(0), store(2)])).toEqual([[0], [1]]);
  expect(phases([load(0), reduced(0), map(0, 1), map(2, 0)], [sum(0), sum(3), store(0)])).toEqual([[0], [1, 2]]);
  const gathered: KernelValue = { kind: "load", from: { ...at(1), at: [{ value: 1, stride: 5 }] }, dtype: "float32" };
  expect(phases([load(0), reduced(0), gathered], [sum(0), store(2)])).toEqual([[0], [1]]);
  const scattered: Statement = { ...store(0), to: { ...at(3), at: [{ value: 1, stride: 5 }] } } as Statement;
  expect(phases([load(0), reduced(0)], [sum(0), scattered])).toEqual([[0], [1]]);
});

it("does not put loops of different lengths together", () => {
  expect(phases([load(0)], [sum(0), { ...store(0), inner: [4] }])).toEqual([[0], [1]]);
});

it("computes four places at once from what lies at most two apart, or was stored so", () => {
  const isWide = (stride: number, value: KernelValue): boolean => {
    const apart: Statement = { ...store(0), to: { ...at(2), inner: [stride] } } as Statement;
    // The sum separates the two loops.
    const values = [load(0), value, reduced(1), map(1, 2)];
    const kernel: Kernel = { name: "", buffers: 4, outer: [2], values, statements: [apart, sum(0), store(3)] };
    return new PhaseValues(kernel, phasesOf(kernel).at(-1)!).canBeWide();
  };
  const kept: KernelValue = { kind: "kept", statement: 0, dtype: "float32" };
  expect([1, 2, 3, -1].map((stride) => isWide(stride, kept))).toEqual([true, true, false, false]);
  const loaded = (stride: number): KernelValue => ({
    kind: "load",
    from: { ...at(1), inner: [stride] },
    dtype: "float32",
  });
  expect([1, 2, 3, -1].map((stride) => isWide(1, loaded(stride)))).toEqual([true, true, false, false]);
});
