// Every half number survives the way through float32 and back. That others round as in PyTorch: tests/interop.
import { expect, test } from "vitest";
import { badFile } from "./bad-file.ts";
import { castTensors } from "./cast.ts";
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from "./half.ts";
import type { FileTensors } from "./tensor.ts";

const all = Uint16Array.from({ length: 65536 }, (_, i) => i);

test.each([
  ["F16", float16ToFloat32, float32ToFloat16, 0x7c00],
  ["BF16", bfloat16ToFloat32, float32ToBfloat16, 0x7f80],
] as const)("%s, all 65,536 of them", (_name, widen, narrow, infinity) => {
  const back = narrow(widen(all));
  const isNaN = (bits: number): boolean => (bits & 0x7fff) > infinity;
  expect(all.filter((bits) => (isNaN(bits) ? !isNaN(back[bits]!) : back[bits] !== bits))).toEqual(new Uint16Array());
});

test("halfway numbers go to the even one, on both sides", () => {
  const ties = Float32Array.of(1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -25, 3 * 2 ** -25, 65519.99, -65519.99, 1e-30);
  expect([...float32ToFloat16(ties)]).toEqual([0x3c00, 0x3c02, 0, 2, 0x7bff, 0xfbff, 0]);
  expect([...float32ToFloat16(Float32Array.of(65520, -1e30))]).toEqual([0x7c00, 0xfc00]);
  expect([...float32ToBfloat16(Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8, NaN))]).toEqual([0x3f80, 0x3f82, 0x7fc0]);
});

test("what is no floating-point number stays, and so does what has the type already", () => {
  const given: FileTensors = {
    i: { dtype: "I32", shape: [1], bytes: new Uint8Array(4) },
    h: { dtype: "F16", shape: [1], bytes: new Uint8Array(2) },
    b: { dtype: "BF16", shape: [1], bytes: Uint8Array.of(0x80, 0x3f) },
  };
  const cast = castTensors(given, "F16", badFile("m"));
  expect(cast.i).toBe(given.i);
  expect(cast.h).toBe(given.h);
  expect(cast.b).toEqual({ dtype: "F16", shape: [1], bytes: Uint8Array.of(0, 0x3c) });
});
