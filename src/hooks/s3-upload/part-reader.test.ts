// Parts and their digests: the same whoever reads, a thread or this one, and however many ask.
import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { joinedTag, PartReader, tagOf, type Part, type PartSource } from "./part-reader.ts";

const MB = 1 << 20;
const content = new Uint8Array(11 * MB + 7).map((_, i) => (i * 31 + (i >> 13)) % 251);
const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

function onDisk(bytes = content): Required<Pick<PartSource, "bytes" | "fd">> & PartSource {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  writeFileSync(join(folder, "file"), bytes);
  const fd = openSync(join(folder, "file"), "r");
  onTestFinished(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true, force: true });
  });
  return { bytes: content.byteLength, fd, read: () => Promise.reject(new Error("the thread reads")) };
}

const inMemory = (): PartSource => ({
  bytes: content.byteLength,
  read: async (into, at) => into.set(content.subarray(at, at + into.byteLength)),
});

describe.each([
  ["in a thread", onDisk],
  ["here", inMemory],
])("%s", (_where, source) => {
  it("gives every part once, with its digest, to as many as ask", async () => {
    const reader = new PartReader("test", source(), 4 * MB);
    onTestFinished(() => reader.close());
    const parts: (Part | undefined)[] = [];
    const lane = async (): Promise<void> => {
      for (;;) {
        const part = await reader.next(new ArrayBuffer(4 * MB));
        if (part === undefined) return;
        parts[part.number - 1] = part;
      }
    };
    await Promise.all([lane(), lane()]);
    expect(parts).toHaveLength(3);
    for (const [i, part] of parts.entries()) {
      const expected = content.subarray(4 * MB * i, 4 * MB * (i + 1));
      expect(Buffer.compare(part!.bytes, expected)).toBe(0);
      expect(part!.md5).toBe(md5(expected));
    }
    expect(reader.sha256()).toBe(createHash("sha256").update(content).digest("hex"));
  });

  it("knows the tag that a service gives it", async () => {
    const digests = [0, 1, 2].map((i) => md5(content.subarray(4 * MB * i, 4 * MB * (i + 1))));
    const tag = joinedTag("test", digests);
    expect(tag).toMatch(/^[0-9a-f]{32}-3$/);
    const room = (): ArrayBuffer => new ArrayBuffer(content.byteLength);
    expect(await tagOf("test", source(), 4 * MB, tag, room)).toBe(tag);
    expect(await tagOf("test", source(), content.byteLength, md5(content), room)).toBe(md5(content));
    // In parts of another size: it cannot be told.
    expect(await tagOf("test", source(), 5 * MB, `${md5(content)}-9`, room)).toBeUndefined();
  });
});

it("a file that has become shorter is an error, for all that ask", async () => {
  const reader = new PartReader("test", onDisk(content.subarray(0, 6 * MB)), 4 * MB);
  onTestFinished(() => reader.close());
  expect(await reader.next(new ArrayBuffer(4 * MB))).toMatchObject({ number: 1 });
  await expect(reader.next(new ArrayBuffer(4 * MB))).rejects.toThrow("shorter than it was");
});

it("an empty file is one empty part", async () => {
  const reader = new PartReader("test", { bytes: 0, read: async () => undefined }, 4 * MB);
  expect(await reader.next(new ArrayBuffer(0))).toMatchObject({ number: 1, md5: md5(new Uint8Array()) });
  expect(await reader.next(new ArrayBuffer(0))).toBeUndefined();
});
