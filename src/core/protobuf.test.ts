// The encoding against examples of its specification, and varints up to the largest safe number.
import fc from "fast-check";
import { expect, it } from "vitest";
import { blob, concat, double, message, putVarint, string, uint, varintSize } from "./protobuf.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

it("encodes the specification's examples", () => {
  expect(hex(uint(1, 150))).toBe("089601");
  expect(hex(string(2, "testing"))).toBe("120774657374696e67");
  expect(hex(message(3, uint(1, 150)))).toBe("1a03089601");
});

it("encodes the rest", () => {
  expect(hex(double(1, 1))).toBe("09000000000000f03f");
  expect(hex(blob(16, Uint8Array.of(1, 2)))).toBe("8201020102");
  expect(hex(string(1, "é"))).toBe("0a02c3a9");
  expect(hex(message(1))).toBe("0a00");
  expect(hex(concat([uint(1, 0), uint(2, 1)]))).toBe("08001001");
});

it("writes varints of every size", () => {
  const byDefinition = (value: bigint): number[] =>
    value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...byDefinition(value >> 7n)];
  const edges = Array.from({ length: 53 }, (_, bit) => [2 ** bit - 1, 2 ** bit, 2 ** bit + 1]).flat();
  const numbers = fc.oneof(fc.constantFrom(...edges), fc.maxSafeNat());
  fc.assert(
    fc.property(numbers, (value) => {
      const bytes = new Uint8Array(12);
      const end = putVarint(bytes, 2, value);
      expect([...bytes.subarray(2, end)]).toEqual(byDefinition(BigInt(value)));
      expect(varintSize(value)).toBe(end - 2);
    }),
    { numRuns: 1000 },
  );
});
