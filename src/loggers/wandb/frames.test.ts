// Frames of every length around the end of a block. Other readers are asked in tests/interop/wandb.test.ts.
import { crc32 } from "node:zlib";
import { expect, it } from "vitest";
import { WandbFrames } from "./frames.ts";

/** By the rules of the format, and nothing of the writer's. */
function read(file: Buffer): Buffer[] {
  expect(file.subarray(0, 7).toString("latin1")).toBe(":W&B\xe1\xbe\x00");
  const records: Buffer[] = [];
  let parts: Buffer[] = [];
  for (let at = 7; at < file.length;) {
    const left = 32_768 - (at % 32_768);
    if (left < 7) {
      at += left;
      continue;
    }
    const [length, kind] = [file.readUInt16LE(at + 4), file[at + 6]!];
    const data = file.subarray(at + 7, at + 7 + length);
    expect(data.length).toBe(length);
    expect(7 + length).toBeLessThanOrEqual(left);
    expect(file.readUInt32LE(at)).toBe(crc32(Buffer.from([kind, ...data])));
    expect(parts.length > 0).toBe(kind === 3 || kind === 4);
    parts.push(data);
    if (kind === 1 || kind === 4) {
      records.push(Buffer.concat(parts));
      parts = [];
    }
    at += 7 + length;
  }
  expect(parts).toEqual([]);
  return records;
}

it("can be read back, wherever blocks end", () => {
  for (const first of [0, 1, 32_740, ...Array.from({ length: 20 }, (_, i) => 32_745 + i), 70_000, 98_283]) {
    const frames = new WandbFrames();
    const records = [first, 0, 5, 40_000, 32_761, 1].map((length, i) => Buffer.alloc(length, i + 1));
    for (const record of records) frames.add(record);
    const found = read(Buffer.concat(frames.take()));
    expect(found.map((record) => record.length)).toEqual(records.map((record) => record.length));
    expect(Buffer.concat(found).equals(Buffer.concat(records))).toBe(true);
    expect(frames.take()).toEqual([]);
  }
});
