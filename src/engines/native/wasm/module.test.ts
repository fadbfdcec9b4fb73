// The binary format at its edges: what is written is what the runtime reads.
import fc from "fast-check";
import { expect, it } from "vitest";
import { Code } from "./code.ts";
import { assemble, float32, signed, unsigned, type WasmFunction } from "./module.ts";

const PLAIN = { address: "i32", isShared: false } as const;

/** Runs a body that leaves one i32 or f32 at address 0. */
function stored(write: (code: Code) => void): DataView {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const code = new Code(1);
  write(code);
  const fn: WasmFunction = { name: "f", params: code.params, locals: code.locals, body: code.bytes };
  const module = new WebAssembly.Module(assemble([fn], PLAIN));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  (exports.f as (at: number) => void)(0);
  return new DataView(memory.buffer);
}

it("writes whole numbers of any size", () => {
  for (const value of [0, 1, 63, 64, -64, -65, 127, 128, 8191, 8192, -8193, 2 ** 31 - 1, -(2 ** 31), -1]) {
    expect(stored((code) => code.get(code.address(0)).i32(value).store("i32")).getInt32(0, true)).toBe(value);
  }
  fc.assert(
    fc.property(fc.integer(), (value) => {
      expect(stored((code) => code.get(code.address(0)).i32(value).store("i32")).getInt32(0, true)).toBe(value);
    }),
    { numRuns: 50 },
  );
});

it("wraps what is above 2³¹, as addresses do", () => {
  for (const [value, wrapped] of [
    [2 ** 32 - 1, -1],
    [3 * 2 ** 30, -(2 ** 30)],
  ] as const) {
    expect(stored((code) => code.get(code.address(0)).i32(value).store("i32")).getInt32(0, true)).toBe(wrapped);
  }
});

it.each([
  [-1, [0x7f]],
  [2 ** 32, [0x80, 0x80, 0x80, 0x80, 0x10]],
  [-(2 ** 32), [0x80, 0x80, 0x80, 0x80, 0x70]],
  [2 ** 34 + 5, [0x85, 0x80, 0x80, 0x80, 0xc0, 0x00]],
])("writes addresses of 64 bits: %d", (value, bytes) => {
  expect(signed(value)).toEqual(bytes);
});

it("writes floats, infinite ones and NaN", () => {
  for (const value of [0, -0, 1.5, -3.4028234663852886e38, 1e-45, Infinity, -Infinity, Number.NaN]) {
    expect(stored((code) => code.get(code.address(0)).f32(value).store("f32")).getFloat32(0, true)).toBe(
      Math.fround(value),
    );
  }
  expect(float32(1)).toEqual([0, 0, 0x80, 0x3f]);
});

it.each([
  [0, [0]],
  [127, [0x7f]],
  [128, [0x80, 1]],
  [16_384, [0x80, 0x80, 1]],
  [2 ** 32 - 1, [0xff, 0xff, 0xff, 0xff, 0x0f]],
])("writes lengths: %d", (value, bytes) => expect(unsigned(value)).toEqual(bytes));

it("makes modules of many functions with many locals and of different arity", () => {
  const functions = Array.from({ length: 200 }, (_, i): WasmFunction => {
    const code = new Code(1 + (i % 7));
    const locals = Array.from({ length: 150 }, () => code.i32(i).keep("i32"));
    code.get(code.address(0)).get(locals.at(-1)!).store("i32");
    return { name: `f${i}`, params: code.params, locals: code.locals, body: code.bytes };
  });
  const memory = new WebAssembly.Memory({ initial: 1 });
  const module = new WebAssembly.Module(assemble(functions, PLAIN));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  for (const i of [0, 130, 199]) {
    (exports[`f${i}`] as (...args: number[]) => void)(64);
    expect(new DataView(memory.buffer).getInt32(64, true)).toBe(i);
  }
});

it("repeats as often as it says, none included", () => {
  for (const count of [0, 1, 2, 7]) {
    const view = stored((code) => {
      const sum = code.i32(0).keep("i32");
      code.repeat(count, () => code.repeat(3, () => code.advance(sum, 2)));
      code.get(code.address(0)).get(sum).store("i32");
    });
    expect(view.getInt32(0, true)).toBe(count * 6);
  }
});
