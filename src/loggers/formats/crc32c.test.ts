// Known vectors of CRC32C, and the fast loop against the definition.
import fc from "fast-check";
import { expect, it } from "vitest";
import { crc32c, maskedCrc32c } from "./crc32c.ts";

/** Bit by bit, as the polynomial says. */
function byDefinition(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

// RFC 3720, B.4, and the customary check value.
it.each([
  ["nothing", new Uint8Array(), 0],
  ["123456789", Buffer.from("123456789"), 0xe3069283],
  ["32 zeros", new Uint8Array(32), 0x8a9136aa],
  ["32 times 0xff", new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ["0 to 31", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ["31 to 0", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
])("is the known one: %s", (_, bytes, known) => {
  expect(crc32c(bytes)).toBe(known);
});

it("masks as record files do", () => {
  // LevelDB's own test: the mask changes the value, and differs when it is put on twice.
  const crc = crc32c(Buffer.from("foo"));
  const masked = maskedCrc32c(Buffer.from("foo"));
  expect(masked).not.toBe(crc);
  const turned = (masked - 0xa282ead8) >>> 0;
  expect(((turned >>> 17) | (turned << 15)) >>> 0).toBe(crc);
});

it("is the definition's at every length and place", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(20), fc.nat(20), (bytes, before, after) => {
      const whole = new Uint8Array(before + bytes.length + after).fill(7);
      whole.set(bytes, before);
      expect(crc32c(whole, before, before + bytes.length)).toBe(byDefinition(bytes));
    }),
  );
});
