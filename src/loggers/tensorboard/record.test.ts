import { expect, it } from "vitest";
import { RecordBuffer, crc32c, lastRecord, maskedCrc32c } from "./record.ts";
import fc from "fast-check";

// The framing against bytes that TensorFlow wrote, and the buffer's growth.

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The records in these bytes; throws when one is broken. */
function split(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const records: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Number(view.getBigUint64(at, true));
    expect(view.getUint32(at + 8, true)).toBe(maskedCrc32c(bytes, at, at + 8));
    expect(view.getUint32(at + 12 + length, true)).toBe(maskedCrc32c(bytes, at + 12, at + 12 + length));
    records.push(bytes.subarray(at + 12, at + 12 + length));
    at += 12 + length + 4;
  }
  return records;
}

it("frames as TensorFlow does", () => {
  // A record of length 24: how every event file begins. Its length and checksum are in the documentation of many tools.
  const buffer = new RecordBuffer();
  buffer.append(new Uint8Array(24));
  expect(hex(buffer.take().subarray(0, 12))).toBe("1800000000000000a37f4b22");
});

it("keeps records whole and in order while it grows", () => {
  const buffer = new RecordBuffer(16);
  const payloads = Array.from({ length: 300 }, (_, i) => new Uint8Array(i).fill(i));
  for (const payload of payloads) buffer.append(payload);
  expect(split(buffer.take())).toEqual(payloads);
});

it("takes a payload where it lies, and forgets one that was begun and not committed", () => {
  const buffer = new RecordBuffer(16);
  buffer.begin(1000);
  const at = buffer.begin(2);
  buffer.bytes.set([1, 2], at);
  buffer.commit(2);
  const records = buffer.take();
  expect(split(records)).toEqual([Uint8Array.of(1, 2)]);
  expect(buffer.size).toBe(0);
  // A copy: what comes next does not change it.
  buffer.append(Uint8Array.of(9, 9));
  expect(split(records)).toEqual([Uint8Array.of(1, 2)]);
  expect(split(buffer.take())).toEqual([Uint8Array.of(9, 9)]);
});

it("finds the last record from the end, and only a whole one", () => {
  const buffer = new RecordBuffer();
  buffer.append(new Uint8Array(40).fill(7));
  // Zeros look like the head of an empty record but for its checksum.
  buffer.append(new Uint8Array(30));
  const bytes = buffer.take();
  expect(lastRecord(bytes)).toBe(56);
  expect(lastRecord(bytes.subarray(50))).toBe(6);
  expect(lastRecord(bytes.subarray(60))).toBeUndefined();
  expect(lastRecord(bytes.subarray(0, -1))).toBeUndefined();
  expect(lastRecord(bytes.subarray(0, 56))).toBe(0);
  expect(lastRecord(new Uint8Array(0))).toBeUndefined();
});

// Known vectors of CRC32C, and the fast loop against the definition.

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
