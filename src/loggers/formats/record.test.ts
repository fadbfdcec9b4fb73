// The framing against bytes that TensorFlow wrote, and the buffer's growth.
import { expect, it } from "vitest";
import { maskedCrc32c } from "./crc32c.ts";
import { lastRecord, RecordBuffer } from "./record.ts";

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
