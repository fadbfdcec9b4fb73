// .pt files: what is written comes back, and files of PyTorch's own are read (tests/interop has PyTorch read ours).
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CheckpointError } from "../../../core/errors.ts";
import { type FileTensor, badFile } from "../tensor.ts";
import { decodePt, encodePt, ptParts } from "./pt.ts";
import { ZipFile } from "./zip.ts";
import { type PtValue, asTuple, isTuple } from "./pickle-writer.ts";

const floats = (values: number[], shape: number[]): FileTensor => ({
  dtype: "F32",
  shape,
  bytes: new Uint8Array(Float32Array.from(values).buffer),
});
const roundTrip = (value: PtValue): PtValue => decodePt(encodePt(value), "m.pt");

const widths = {
  F32: 4,
  F64: 8,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
  C64: 8,
  U16: 2,
  U32: 4,
  U64: 8,
  F8_E4M3: 1,
  F8_E8M0: 1,
};
const anyTensor: fc.Arbitrary<FileTensor> = fc
  .tuple(fc.constantFrom(...(Object.keys(widths) as (keyof typeof widths)[])), fc.array(fc.nat(3), { maxLength: 3 }))
  .chain(([dtype, shape]) => {
    const size = shape.reduce((a, b) => a * b, widths[dtype]);
    return fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => ({ dtype, shape, bytes }));
  });
const anyText = fc.string({ unit: "grapheme", maxLength: 10 });
const anyKey = anyText.filter((key) => key !== "__proto__");
const { value: anyValue } = fc.letrec<{ value: PtValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.maxSafeInteger(),
    fc.integer(),
    fc.bigInt().filter((n) => !Number.isSafeInteger(Number(n))),
    anyText,
    fc.uint8Array({ maxLength: 5 }),
    anyTensor,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(anyKey, tie("value"), { maxKeys: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.integer(), anyKey), tie("value")), { minLength: 1, maxLength: 4 })
      .map((entries) => new Map<number | string, PtValue>([[-1, null], ...entries])),
  ),
}));

describe("values", () => {
  it("come back as they were", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(roundTrip(value)).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("come back exactly at the edges of Python's number formats", () => {
    const edges = [
      0,
      255,
      256,
      65535,
      65536,
      2 ** 31 - 1,
      2 ** 31,
      -1,
      -(2 ** 31),
      -(2 ** 31) - 1,
      2 ** 53 - 1,
      -(2 ** 53) + 1,
    ];
    const odd = [-0, 1e300, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, 5e-324];
    const big = [2n ** 63n, -(2n ** 63n), 2n ** 64n - 1n, -(2n ** 64n), 2n ** 200n];
    expect(roundTrip([...edges, ...odd, ...big])).toEqual([...edges, ...odd, ...big]);
  });

  it("are whole when they are many", () => {
    const list = Array.from({ length: 123_456 }, (_, i) => i / 2);
    const dict = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`n${i}`, i]));
    expect(roundTrip({ list, dict })).toEqual({ list, dict });
  });

  it("stay tuples on the way through, and look like arrays", () => {
    const read = roundTrip({ betas: asTuple([0.9, asTuple([])]), list: [1] }) as Record<string, PtValue[]>;
    expect(read).toEqual({ betas: [0.9, []], list: [1] });
    const again = roundTrip(read) as typeof read;
    expect([again.betas!, again.betas![1] as PtValue[], again.list!].map(isTuple)).toEqual([true, true, false]);
  });

  it("are the same bytes for the same value, with every tensor at a multiple of 64", () => {
    const value = { a: floats([1, 2], [2]), b: floats([3], []), epoch: 3 };
    const bytes = encodePt(value);
    expect(encodePt(value)).toEqual(bytes);
    const zip = new ZipFile(bytes, badFile("m"));
    expect(zip.names).toEqual([
      "archive/data.pkl",
      "archive/byteorder",
      "archive/data/0",
      "archive/data/1",
      "archive/version",
    ]);
    for (const name of zip.names) expect(zip.get(name)!.byteOffset % 64, name).toBe(0);
    expect(ptParts(value)).toContain(value.a.bytes);
  });

  it.each<[string, unknown, string]>([
    ["a function", { f: () => 1 }, "the value.f is a function"],
    ["an object of a class", { d: new Date(0) }, "the value.d is an object (Date)"],
    ["undefined", [undefined], "the value[0] is `undefined`"],
    ["a trap for a key", JSON.parse('{"__proto__": 1}'), "__proto__"],
    ["a tensor that lacks bytes", { t: { ...floats([1], [1]), shape: [2] } }, "has 4 bytes"],
    [
      "a type that PyTorch does not have",
      { t: { dtype: "F6_E2M3", shape: [4], bytes: new Uint8Array(3) } },
      "Write safetensors",
    ],
  ])("are not written for %s", (_name, value, says) => {
    expect(() => encodePt(value as PtValue)).toThrow(CheckpointError);
    expect(() => encodePt(value as PtValue)).toThrow(says);
  });

  it("are not written when they contain themselves", () => {
    const loop: PtValue[] = [];
    loop.push(loop);
    expect(() => encodePt(loop)).toThrow("nested deeper than 64 levels");
  });
});

it("reads a full checkpoint that PyTorch 1.13 wrote, a transposed view in it made contiguous", () => {
  const file = readFileSync(new URL("../../../../tests/hostile/formats-torch-1.13.pt", import.meta.url));
  expect(decodePt(file, "m.pt")).toEqual({
    model: {
      weight: floats([0, 1, 2, 3, 4, 5], [2, 3]),
      view: floats([0, 3, 1, 4, 2, 5], [3, 2]),
      n: { dtype: "I64", shape: [], bytes: Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0) },
    },
    epoch: 3,
    lr: 0.5,
    state: new Map([[0, { step: floats([2], []) }]]),
    done: false,
    name: "tiny",
  });
});

it("notices every flipped bit of such a file, or reads it as it was", () => {
  const file = new Uint8Array(
    readFileSync(new URL("../../../../tests/hostile/formats-torch-1.13.pt", import.meta.url)),
  );
  const sound = decodePt(file, "m.pt");
  for (let bit = 0; bit < 8 * file.length; bit += 5) {
    const flipped = file.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    let read: unknown = sound;
    try {
      read = decodePt(flipped, "m.pt");
    } catch (error) {
      expect(error).toBeInstanceOf(CheckpointError);
    }
    expect(read, `bit ${bit}`).toEqual(sound);
  }
});
