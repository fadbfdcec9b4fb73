import { afterEach, expect, test } from "vitest";
import { EngineMemory, loadAlias } from "../memory.ts";
import type { Kernel } from "../kernel.ts";
import { compileKernels } from "../wasm/compile.ts";
import type { Part } from "./parts.ts";
import { ThreadPool } from "./pool.ts";

const copy: Kernel = {
  name: "copy",
  buffers: 2,
  outer: [],
  values: [{ kind: "load", dtype: "float32", from: { buffer: 0, offset: 0, outer: [], inner: [1] } }],
  statements: [{ kind: "store", inner: [4], value: 0, to: { buffer: 1, offset: 0, outer: [], inner: [1] } }],
};

let pool: ThreadPool | undefined;
afterEach(() => pool?.close());

/** A step of which the other thread copies four numbers to `to`, while this one takes its time over its own part. */
function copying(to: number) {
  const warnings: string[] = [];
  const memory = new EngineMemory(loadAlias());
  pool = new ThreadPool(2, memory, (warning) => warnings.push(warning));
  const part: Part = { kind: "kernel", kernel: 0, places: [{ at: 64 }, { at: to }], rest: [0] };
  const addresses = new Float64Array(new SharedArrayBuffer(8));
  const program = pool.join({ module: compileKernels([copy], memory), addresses, parts: [[part, part]] });
  let here = 0;
  const run = pool.divided(program, 0, [() => linger(5), () => here++]);
  memory.bytes(64, 16).set([1, 2, 3, 4]);
  return { memory, warnings, step: () => run(addresses), doneHere: () => here };
}

function linger(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("another thread does its part, and this one until it is there", () => {
  const { memory, warnings, step, doneHere } = copying(128);
  const isCopied = (): boolean => memory.bytes(128, 4).join() === "1,2,3,4";
  let steps = 0;
  for (; !isCopied() && steps < 4000; steps++) step();
  expect(isCopied()).toBe(true);
  expect(doneHere()).toBe(steps - 1);
  expect(warnings).toEqual([]);
});

test("a thread that is not asked to help leaves its part to this one, until it is asked again", () => {
  const { memory, step, doneHere } = copying(128);
  pool!.ask(false);
  for (let steps = 1; steps <= 20; steps++) {
    step();
    expect(doneHere()).toBe(steps);
  }
  pool!.ask(true);
  const isCopied = (): boolean => memory.bytes(128, 4).join() === "1,2,3,4";
  for (let steps = 0; !isCopied() && steps < 4000; steps++) step();
  expect(isCopied()).toBe(true);
});

test("of three threads the last one is not asked; then it hears of new programs, and helps again", () => {
  const memory = new EngineMemory(loadAlias());
  pool = new ThreadPool(3, memory, () => undefined);
  pool.ask(false);
  const to = (at: number): Part => ({ kind: "kernel", kernel: 0, places: [{ at: 64 }, { at }], rest: [0] });
  const addresses = new Float64Array(new SharedArrayBuffer(8));
  const parts = [[to(96), to(128), to(160)]];
  const program = pool.join({ module: compileKernels([copy], memory), addresses, parts });
  const here = [0, 0, 0];
  const run = pool.divided(program, 0, [() => linger(5), () => here[1]!++, () => here[2]!++]);
  memory.bytes(64, 16).set([1, 2, 3, 4]);
  const isCopied = (at: number): boolean => memory.bytes(at, 4).join() === "1,2,3,4";
  let steps = 0;
  for (; !isCopied(128) && steps < 4000; steps++) run(addresses);
  expect([isCopied(128), isCopied(160)]).toEqual([true, false]);
  expect(here[2]).toBe(steps);
  pool.ask(true);
  for (; !isCopied(160) && steps < 8000; steps++) run(addresses);
  expect(isCopied(160)).toBe(true);
});

test("what goes wrong in another thread is the step's error, then and later", () => {
  const { step } = copying(2 ** 31);
  const untilItFails = (): void => {
    for (let i = 0; i < 4000; i++) step();
  };
  expect(untilItFails).toThrow("thread 1 has failed: memory access out of bounds");
  expect(step).toThrow("memory access out of bounds");
});
