// Statements share a loop unless one waits for another's total.
import { expect, it } from "vitest";
import type { Kernel, KernelValue, Statement } from "../kernel.ts";
import { phasesOf } from "./phases.ts";

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
