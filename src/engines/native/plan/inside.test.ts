import { expect, test } from "vitest";
import type { Access, Kernel, Statement } from "../kernel.ts";
import { keepInside } from "./inside.ts";
import type { PlannedBuffer, Step } from "./steps.ts";

const row = (buffer: number): Access => ({ buffer, offset: 0, outer: [8], inner: [1] });
const store = (value: number, buffer: number): Statement => ({ kind: "store", inner: [8], value, to: row(buffer) });

/** Doubles what it loads, stores that, then stores its double. */
const kernel: Kernel = {
  name: "doubles",
  buffers: 3,
  outer: [8],
  values: [
    { kind: "load", dtype: "float32", from: row(0) },
    { kind: "map", fn: "add", args: [0, 0], dtype: "float32" },
    { kind: "kept", statement: 0, dtype: "float32" },
    { kind: "map", fn: "add", args: [2, 2], dtype: "float32" },
  ],
  statements: [store(1, 1), store(3, 2)],
};

const plan = (source: PlannedBuffer["source"], ...more: Step[]) => {
  const buffers: PlannedBuffer[] = [
    { length: 64, source: { kind: "input", index: 0 } },
    { length: 64, source },
    { length: 64, source: { kind: "output", index: 0 } },
  ];
  return keepInside([{ kind: "kernel", kernel, buffers: [0, 1, 2] }, ...more], buffers)[0];
};

test("what only the kernel itself asks for is not stored, and needs no buffer", () => {
  expect(plan({ kind: "temporary" })).toMatchObject({
    buffers: [0, 2],
    kernel: {
      buffers: 2,
      statements: [
        { kind: "keep", value: 1 },
        { kind: "store", to: { buffer: 1 } },
      ],
    },
  });
});

test("what others ask for is", () => {
  const reader: Step = { kind: "sort", from: 1, to: 2, rows: 8, length: 8, dtype: "float32" };
  const whole = { buffers: [0, 1, 2], kernel: { statements: [{ kind: "store" }, { kind: "store" }] } };
  expect(plan({ kind: "temporary" }, reader)).toMatchObject(whole);
  expect(plan({ kind: "output", index: 1 })).toMatchObject(whole);
});
