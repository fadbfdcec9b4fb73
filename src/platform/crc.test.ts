// The checksum in both of its forms.
import fc from "fast-check";
import { expect, it } from "vitest";
import { crc32, crc32Portable } from "./crc.ts";

it("is the one of the zip format", () => {
  expect(crc32Portable(Buffer.from("123456789"))).toBe(0xcbf43926);
  expect(crc32Portable(new Uint8Array())).toBe(0);
});

it("is the same in plain JavaScript and in Node's machine code, at every length", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(crc32Portable(bytes)).toBe(crc32(bytes));
    }),
  );
});
