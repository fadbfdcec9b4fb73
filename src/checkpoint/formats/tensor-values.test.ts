// Every element type to and from the arrays of a trainer.
import { describe, expect, it, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import {
  bfloat16ToFloat32,
  castTensors,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
  fromHostArrays,
  rawValues,
  toHostArrays,
} from "./tensor-values.ts";
import { type FileDType, type FileTensor, type FileTensors, badFile } from "./tensor.ts";

const of = (dtype: FileDType, data: ArrayBufferView, shape: number[]): FileTensor => ({
  dtype,
  shape,
  bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
});
const host = (tensor: FileTensor) => toHostArrays({ t: tensor }, "m").t!;

/** IEEE 754 by its definition, in float64. */
function half(bits: number, exponentBits: number, fractionBits: number): number {
  const bias = 2 ** (exponentBits - 1) - 1;
  const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias));
}

describe("half precision", () => {
  const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
  it.each([
    ["F16", 5, 10],
    ["BF16", 8, 7],
  ] as const)("%s: all 65,536 numbers", (dtype, exponent, fraction) => {
    const { data } = host(of(dtype, all, [65536]));
    const wrong = [...all].filter((bits) => !Object.is(data[bits], half(bits, exponent, fraction)));
    expect(data).toBeInstanceOf(Float32Array);
    expect(wrong).toEqual([]);
  });
});

it("keeps the bits on request", () => {
  const raw = rawValues(of("BF16", Uint16Array.of(0x3f80), [1]));
  expect(raw).toEqual(Uint16Array.of(0x3f80));
  expect(rawValues(of("I64", BigInt64Array.of(-(2n ** 60n)), [1]))).toEqual(BigInt64Array.of(-(2n ** 60n)));
  expect(rawValues(of("C64", Float32Array.of(1, 2), [1]))).toEqual(Float32Array.of(1, 2));
  expect(rawValues(of("F8_E4M3", Uint8Array.of(7), [1]))).toEqual(Uint8Array.of(7));
});

it.each([
  ["F64", Float64Array.of(1e300)],
  ["F32", Float32Array.of(1.5)],
  ["I32", Int32Array.of(-5)],
  ["U32", Uint32Array.of(2 ** 32 - 1)],
  ["I16", Int16Array.of(-300)],
  ["U16", Uint16Array.of(65535)],
  ["I8", Int8Array.of(-3)],
  ["U8", Uint8Array.of(255)],
] as const)("%s keeps its array there and back", (dtype, data) => {
  const tensor = of(dtype, data, [1]);
  expect(host(tensor)).toEqual({ data, shape: [1] });
  expect(fromHostArrays({ t: { data, shape: [1] } }).t).toEqual(tensor);
});

it("narrows 64-bit integers that fit and refuses those that do not", () => {
  expect(host(of("I64", BigInt64Array.of(-7n, 2n ** 31n - 1n), [2])).data).toEqual(Int32Array.of(-7, 2 ** 31 - 1));
  expect(host(of("U64", BigUint64Array.of(2n ** 32n - 1n), [1])).data).toEqual(Uint32Array.of(2 ** 32 - 1));
  for (const value of [2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n + 1n])
    expect(() => host(of("I64", BigInt64Array.of(value), [1]))).toThrow(`m: tensor "t" has the number ${value}`);
  expect(() => host(of("U64", BigUint64Array.of(2n ** 32n), [1]))).toThrow(CheckpointError);
});

it("has truth values as bytes of 0 and 1", () => {
  expect(host(of("BOOL", Uint8Array.of(1, 0), [2]))).toEqual({ data: Uint8Array.of(1, 0), shape: [2], dtype: "bool" });
  const { t } = fromHostArrays({ t: { data: Int32Array.of(0, 5), shape: [2], dtype: "bool" } });
  expect(t).toEqual(of("BOOL", Uint8Array.of(0, 1), [2]));
});

it.each(["F8_E4M3", "F8_E5M2", "F4", "C64"] as const)("refuses %s, with which nothing computes", (dtype) => {
  expect(() => host(of(dtype, new Uint8Array(8), [1]))).toThrow(`m: tensor "t" is of type ${dtype}`);
});

it("shares memory in both directions, and copies only what is not aligned", () => {
  const bytes = new Uint8Array(12);
  const aligned = host({ dtype: "F32", shape: [2], bytes: bytes.subarray(4) });
  expect(aligned.data.buffer).toBe(bytes.buffer);
  const shifted = host({ dtype: "F32", shape: [2], bytes: bytes.subarray(1, 9) });
  expect(shifted.data.buffer).not.toBe(bytes.buffer);
  const data = Float32Array.of(1);
  expect(fromHostArrays({ t: { data, shape: [] } }).t!.bytes.buffer).toBe(data.buffer);
});

// Every half number survives the way through float32 and back. That others round as in PyTorch: tests/interop.

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
