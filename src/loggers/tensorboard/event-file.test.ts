// Event files on a disk that fails: every byte comes once, in order, or the caller is told.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Rng } from "../../data/random.ts";
import { EventFile, eventFileName } from "./event-file.ts";

let folder = "";
/** All handles have it: what is put in its place is every file's write. */
let handles: { write(bytes: Uint8Array, from: number, length: number, at: number): Promise<{ bytesWritten: number }> };
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "events-"));
  const any: FileHandle = await open(join(folder, "any"), "w");
  handles = Object.getPrototypeOf(any) as typeof handles;
  await any.close();
  rmSync(join(folder, "any"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const failing = (): Error => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
const piece = (i: number, size = 1000): Uint8Array => new Uint8Array(size).fill(i);

it("names files so that later ones sort after earlier ones", () => {
  expect(eventFileName([], 1_700_000_000.9, "host.1.0")).toBe("events.out.tfevents.1700000000.host.1.0");
  // Another part within the same second, and one after the clock was put back.
  const first = "events.out.tfevents.1700000000.host.99.0";
  expect(eventFileName([first], 1_700_000_000, "host.100.0")).toBe("events.out.tfevents.1700000001.host.100.0");
  expect(eventFileName([first, "notes.txt"], 5, "host.1.0")).toBe("events.out.tfevents.1700000001.host.1.0");
});

it("writes in the background, in order", async () => {
  const file = await EventFile.create("test", join(folder, "new", "tb"), 1.7e9, ".id");
  for (let i = 0; i < 50; i++) file.write(piece(i));
  await expect.poll(() => statSync(file.path).size).toBe(50_000);
  file.write(piece(50));
  await file.close();
  expect(readFileSync(file.path)).toEqual(Buffer.concat(Array.from({ length: 51 }, (_, i) => piece(i))));
});

it("comes to the same bytes on a disk that writes in pieces and fails now and then", async () => {
  const rng = new Rng(3);
  const write = handles.write;
  let failures = 0;
  vi.spyOn(handles, "write").mockImplementation(async function (this: FileHandle, bytes, from, length, at) {
    if (rng.int(3) === 0) {
      failures++;
      throw failing();
    }
    return write.call(this, bytes, from, 1 + rng.int(length), at);
  });
  const file = await EventFile.create("test", folder, 1.7e9, ".id");
  const pieces = Array.from({ length: 100 }, (_, i) => piece(i, 1 + rng.int(500)));
  let rejected = 0;
  for (const bytes of pieces) {
    file.write(bytes);
    if (rng.int(4) === 0) await file.settle().catch(() => rejected++);
  }
  const retry = async (): Promise<void> => file.settle().catch(retry);
  await retry();
  await file.close();
  expect(readFileSync(file.path)).toEqual(Buffer.concat(pieces));
  expect(failures).toBeGreaterThan(10);
  expect(rejected).toBeGreaterThan(0);
});

it("says what failed, and asks a full disk again only at a flush", async () => {
  const file = await EventFile.create("test", folder, 1.7e9, ".id");
  const write = vi.spyOn(handles, "write").mockRejectedValue(failing());
  file.write(piece(1));
  await expect(file.settle()).rejects.toThrow(/Could not write .*tfevents.*ENOSPC.* 1000 bytes are kept/);
  const calls = write.mock.calls.length;
  for (let i = 0; i < 10; i++) file.write(piece(i));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(write.mock.calls.length).toBe(calls);
  await expect(file.close()).rejects.toThrow("11000 bytes are kept");
});

it("keeps a bounded amount for a disk that takes nothing, and says what is lost", async () => {
  const file = await EventFile.create("test", folder, 1.7e9, ".id");
  const megabyte = 1024 * 1024;
  const write = vi.spyOn(handles, "write").mockRejectedValue(failing());
  for (let i = 0; i < 70; i++) file.write(piece(i, megabyte));
  await expect(file.settle()).rejects.toThrow(`${6 * megabyte} bytes were too many to be kept, and are lost`);
  write.mockRestore();
  file.write(piece(0));
  await expect(file.settle()).rejects.toThrow("1000 bytes were too many");
  await file.settle();
  file.write(piece(71));
  await file.close();
  expect(statSync(file.path).size).toBe(64 * megabyte + 1000);
});
