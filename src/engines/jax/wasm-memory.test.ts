// Arrays are copied out of wasm memory once, into memory that is given.
import { Array as JaxArray, numpy as np } from "@jax-js/jax";
import { expect, test } from "vitest";
import { watchBuffers } from "../../../tests/support/live-buffers.ts";
import type { Buffer } from "../engine.ts";
import { JaxEngine } from "./jax-engine.ts";
import { canLook, look } from "./wasm-memory.ts";

const live = await watchBuffers();
const engine = await JaxEngine.create("wasm");
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype) as object;
const describeSlice = (): unknown => ({
  ...Object.getOwnPropertyDescriptor(typedArrays, "slice"),
  names: Object.getOwnPropertyNames(Uint8Array.prototype),
});
const before = describeSlice();

const put = (length: number): Buffer =>
  engine.put({ data: Float32Array.from({ length }, (_, i) => i), shape: [length] });

test("bytes are copied out", () => {
  expect(canLook()).toBe(true);
  const buffer = put(1000);
  const count = live.count;
  const whole = new Float32Array(new SharedArrayBuffer(4000));
  expect(engine.readInto!(buffer, new Uint8Array(whole.buffer))).toBe(true);
  expect([...whole]).toEqual([...(engine.read(buffer) as Float32Array)]);
  expect(() => engine.readInto!(buffer, new Uint8Array(12))).toThrow("12 bytes were asked for of an array of 4000");
  expect([(buffer as JaxArray).refCount, live.count]).toEqual([1, count]);
  engine.free(buffer);
});

test("constants and arrays of nothing too", () => {
  const constant = np.full([2], 3, { device: "wasm" });
  const into = new Float32Array(2);
  expect(engine.readInto!(constant, new Uint8Array(into.buffer))).toBe(true);
  expect([...into]).toEqual([3, 3]);
  const empty = np.zeros([0, 3], { device: "wasm" });
  expect(engine.readInto!(empty, new Uint8Array(0))).toBe(true);
  engine.free(constant);
  engine.free(empty);
});

test("also after the memory has grown and moved", () => {
  const buffer = put(20_000);
  const size = look(buffer as JaxArray)!.bytes.buffer.byteLength;
  const large = engine.put({ data: new Float32Array(size), shape: [size] });
  const copy = new Float32Array(20_000);
  engine.readInto!(buffer, new Uint8Array(copy.buffer));
  expect(copy[10_001]).toBe(10_001);
  engine.free(buffer);
  engine.free(large);
});

test("arrays that are held may be read where they lie, though steps go on and the memory grows", () => {
  const held = put(1000) as JaxArray;
  const constant = np.full([2], 3, { device: "wasm" });
  const placeOf = engine.lend!([held, constant])!;
  const view = placeOf(held);
  expect([view.byteLength, new Float32Array(view.buffer, view.byteOffset, 1000)[999]]).toEqual([4000, 999]);
  const size = view.buffer.byteLength;
  const large = engine.put({ data: new Float32Array(size), shape: [size] });
  expect(view.byteLength).toBe(0);
  expect(placeOf(constant)).toEqual(new Uint8Array(Float32Array.of(3, 3).buffer));
  const after = placeOf(held);
  expect([...new Float32Array(after.buffer, after.byteOffset, 1000)]).toEqual([...(engine.read(held) as Float32Array)]);
  for (const buffer of [held, constant, large]) engine.free(buffer);
});

test("unless the memory could run out", () => {
  const held = put(4 << 20);
  expect(engine.lend!(Array.from({ length: 100 }, () => held))).toBeDefined();
  expect(engine.lend!(Array.from({ length: 200 }, () => held))).toBeUndefined();
  engine.free(held);
  expect(engine.lend!([held])).toBeUndefined();
});

test("an array that is gone is left to `read`, which says so", () => {
  const buffer = put(300);
  engine.free(buffer);
  expect(engine.readInto!(buffer, new Uint8Array(1200))).toBe(false);
  expect((buffer as JaxArray).refCount).toBe(0);
  expect(() => engine.read(buffer)).toThrow(/freed|disposed|reference/i);
});

test("a read that fails holds nothing, and what it slices on its way is left alone", () => {
  const sliced: unknown[] = [];
  const buffer = put(300) as JaxArray;
  const failing = Object.assign(buffer, {
    dataSync(): never {
      sliced.push(
        Uint8Array.of(1, 2, 3).slice(1),
        Float32Array.of(1, 2, 3).slice(0, 2),
        new Uint8Array(1200).slice(0, 1200),
      );
      throw new Error("cannot read synchronously");
    },
  });
  expect(look(failing)).toBeUndefined();
  expect(sliced).toEqual([Uint8Array.of(2, 3), Float32Array.of(1, 2), new Uint8Array(1200)]);
  expect(describeSlice()).toEqual(before);
  expect(buffer.refCount).toBe(1);
  buffer.dispose();
});

test("another jax-js is noticed: then the engine only reads", () => {
  const { dataSync } = JaxArray.prototype;
  try {
    JaxArray.prototype.dataSync = function () {
      this.dispose();
      return new Float32Array(300);
    };
    expect(canLook()).toBe(false);
  } finally {
    JaxArray.prototype.dataSync = dataSync;
  }
});

test("`slice` is what it was", () => {
  expect(describeSlice()).toEqual(before);
  expect(String((before as { value: unknown }).value)).toContain("[native code]");
});
