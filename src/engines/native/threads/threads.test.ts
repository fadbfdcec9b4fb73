import { grad, lax, nn, numpy as np, type Array as JaxArray } from "@jax-js/jax";
import { afterAll, describe, expect, test } from "vitest";
import type { Tensor } from "../../../core/model.ts";
import { NativeEngine } from "../native-engine.ts";
import type { Kernel } from "../kernel.ts";
import { planWork } from "./work.ts";
import { divideKernel, divideProduct, stretchesOf } from "./divide.ts";

type Fn = (...args: JaxArray[]) => JaxArray;

const engines = [1, 2, 3].map((threads) => new NativeEngine({ threads }));
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

const waves = (shape: readonly number[], salt: number) => ({
  shape,
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i * 12.9898 + salt)),
});

/** What each engine makes of the same arguments, the last of many runs: by then every thread has joined. */
function results(fn: Fn, ...shapes: number[][]): Float32Array[] {
  return engines.map((engine) => {
    const args = shapes.map((shape, i) => engine.put(waves(shape, i)));
    const program = engine.jit(fn);
    const run = (): Float32Array => {
      const made = program(...args) as ReturnType<NativeEngine["put"]>;
      const numbers = engine.read(made) as Float32Array;
      engine.free(made);
      return numbers;
    };
    const first = run();
    for (let i = 0; i < 50; i++) expect(sameBits(run(), first)).toBe(true);
    return first;
  });
}

const sameBits = (a: Float32Array, b: Float32Array): boolean =>
  Buffer.compare(new Uint8Array(a.buffer), new Uint8Array(b.buffer)) === 0;

/** The largest, as a share of the largest number. */
function difference(actual: Float32Array, expected: Float32Array): number {
  const most = expected.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
  return actual.reduce((m, x, i) => Math.max(m, Math.abs(x - expected[i]!)), 0) / most;
}

/** Threads add up in another order, but each number of threads in its own. */
const cases: [string, Fn, ...number[][]][] = [
  ["elementwise", (x) => np.exp(x).mul(2), [300, 301]],
  ["softmax of rows", (x) => nn.softmax(x, -1), [200, 130]],
  ["sums of rows", (x) => np.exp(x).sum(1), [301, 200]],
  ["sums of columns", (x) => np.square(x).sum(0), [511, 130]],
  ["the largest of columns", (x) => np.exp(x).max(0), [511, 130]],
  ["columns of few rows", (x) => np.square(x).sum(0), [2, 60_000]],
  ["rows of a product", (x, y) => np.matmul(x, y), [97, 80], [80, 90]],
  ["one row of a product", (x, y) => np.matmul(x, y.transpose()), [1, 400], [701, 400]],
  ["a batch of products", (x, y) => np.matmul(x, y), [7, 50, 40], [7, 40, 60]],
  [
    "the gradient of a layer",
    (x, w) => grad((v: JaxArray) => np.tanh(np.matmul(x.ref, v)).sum())(w),
    [192, 100],
    [100, 110],
  ],
  ["a turned copy", (x) => np.exp(x.transpose()), [300, 301]],
  ["positions", (x) => x.add(np.arange(400).reshape([400, 1])), [400, 300]],
  [
    "a convolution's gradient",
    (x, w) => grad((v: JaxArray) => np.square(lax.convGeneralDilated(v, w.ref, [1, 1], "SAME")).sum())(x),
    [8, 3, 16, 16],
    [6, 3, 3, 3],
  ],
];

describe("whatever the number of threads", () => {
  test.each(cases)("%s", (_, fn, ...shapes) => {
    const [one, ...more] = results(fn, ...shapes);
    for (const each of more) expect(difference(each, one!)).toBeLessThanOrEqual(1e-5);
  });

  test("memory may grow between runs", () => {
    const engine = new NativeEngine({ threads: 2 });
    const square = engine.jit((x: Tensor) => np.matmul(x, np.ones([256, 256])));
    const held = [];
    for (let i = 0; i < 40; i++) {
      const x = engine.put({ data: new Float32Array(256 * 256).fill(i), shape: [256, 256] });
      const y = square(x) as typeof x;
      expect((engine.read(y) as Float32Array).every((n) => n === 256 * i)).toBe(true);
      held.push(x, y, engine.put({ data: new Float32Array(2 ** 20), shape: [2 ** 20] }));
    }
    return engine.close();
  });
});

test("an engine that is closed says so", async () => {
  const engine = new NativeEngine({ threads: 2 });
  const exp = engine.jit((x: Tensor) => np.exp(x));
  const x = engine.put(waves([100_000], 0));
  void exp(x);
  await engine.close();
  expect(() => exp(x)).toThrow("closed");
});

describe("what is divided", () => {
  const product = { batch: 1, rows: 512, columns: 512, inner: 128, leftTransposed: false, rightTransposed: false };

  test("products along rows, each part where the last one ended", () => {
    expect(divideProduct({ ...product, rows: 511 }, 2)).toEqual([
      { contraction: { ...product, rows: 255 }, left: 0, right: 0, out: 0 },
      { contraction: { ...product, rows: 256 }, left: 255 * 128, right: 0, out: 255 * 512 },
    ]);
  });

  test("a product whose rows do not lie side by side: each part takes its own among them", () => {
    const transposed = { ...product, leftTransposed: true };
    expect(divideProduct(transposed, 2)).toEqual([
      { contraction: { ...transposed, rows: 256, among: { rows: 512, begin: 0 } }, left: 0, right: 0, out: 0 },
      {
        contraction: { ...transposed, rows: 256, among: { rows: 512, begin: 256 } },
        left: 0,
        right: 0,
        out: 256 * 512,
      },
    ]);
  });

  test("one row, along the columns, where those lie side by side", () => {
    const row = { ...product, rows: 1, inner: 512 };
    const transposed = { ...row, rightTransposed: true };
    expect(divideProduct(transposed, 2)).toEqual([
      { contraction: { ...transposed, columns: 256 }, left: 0, right: 0, out: 0 },
      { contraction: { ...transposed, columns: 256 }, left: 0, right: 256 * 512, out: 256 },
    ]);
    expect(divideProduct(row, 2)).toBeUndefined();
    expect(divideProduct({ ...transposed, inner: 100 }, 2)).toBeUndefined();
  });

  test("not a product that is small", () => {
    expect(divideProduct({ ...product, rows: 4 }, 2)).toBeUndefined();
  });

  test("sums in stretches, where there are few rows", () => {
    const few = { ...product, rows: 40, leftTransposed: true };
    expect(stretchesOf(few, 2)).toBe(2);
    expect(stretchesOf({ ...few, inner: 127 }, 2)).toBe(1);
    expect(stretchesOf({ ...few, rows: 48 }, 2)).toBe(1);
  });

  const rows = (outer: number, clear: number, stretches?: number): Kernel => ({
    name: "rows",
    buffers: 2,
    outer: [400],
    values: [{ kind: "load", dtype: "float32", from: { buffer: 0, offset: 0, outer: [300], inner: [1] } }],
    statements: [
      {
        kind: "accumulate",
        fn: "add",
        inner: [300],
        value: 0,
        to: { buffer: 1, offset: 0, outer: [outer], inner: [1] },
        ...(stretches && { stretches }),
      },
    ],
    clear: [{ buffer: 1, length: clear, fn: "add", dtype: "float32" }],
  });

  test("rows that are added up, in stretches that are each thread's own, or along the row", () => {
    expect(divideKernel(rows(0, 300, 2), 2)).toMatchObject({ own: [1], kernel: { ranged: "outer" } });
    expect(divideKernel(rows(0, 300), 2)).toMatchObject({ own: [], kernel: { ranged: "inner" } });
  });

  test("kernels that differ in name alone are compiled once", () => {
    const kernel = rows(300, 400 * 300);
    const other = { ...kernel, outer: [200] };
    const steps = [kernel, { ...kernel, name: "again" }, other].map((each) => ({
      kind: "kernel" as const,
      kernel: each,
      buffers: [0, 1],
    }));
    const { kernels, works } = planWork(steps, 1, () => 0);
    expect(kernels).toEqual([kernel, other]);
    expect(works.map((work) => work!.parts[0])).toMatchObject([{ kernel: 0 }, { kernel: 0 }, { kernel: 1 }]);
  });

  test("rows that are added to different places, but not those that overlap", () => {
    expect(divideKernel(rows(300, 400 * 300), 2)).toMatchObject({ own: [], kernel: { ranged: "outer" } });
    expect(divideKernel(rows(2, 1100), 2)).toBeUndefined();
  });
});
