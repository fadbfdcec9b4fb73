// The file that lines are appended to: order, failing disks, torn ends, and what it costs.
import fs, { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { AppendFile } from "./append-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookline-"));
  path = join(folder, "lines.txt");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

type Options = NonNullable<Parameters<typeof AppendFile.open>[2]>;
const open = (options?: Options): AppendFile => {
  const file = AppendFile.open("test", path, options);
  onTestFinished(() => file.close().catch(() => undefined));
  return file;
};
const read = (): string => readFileSync(path, "utf8");
const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `line ${from + i}\n`);

/** Writes at most `most` bytes at once, fails while `isFull`, and counts. */
function smallDisk(most = Infinity) {
  const state = { isFull: false, writes: 0, inFlight: 0, mostInFlight: 0 };
  const error = (): Error => Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const disk = {
    ...fs,
    write(fd: number, bytes: Uint8Array, offset: number, length: number, position: number, done: Done) {
      state.writes++;
      state.mostInFlight = Math.max(state.mostInFlight, ++state.inFlight);
      const finish: Done = (...results) => {
        state.inFlight--;
        done(...results);
      };
      if (state.isFull) setImmediate(() => finish(error() as NodeJS.ErrnoException, 0, bytes));
      else fs.write(fd, bytes, offset, Math.min(most, length), position, finish);
    },
    writeSync(fd: number, bytes: Uint8Array, offset: number, length: number, position: number) {
      if (state.isFull) throw error();
      return fs.writeSync(fd, bytes, offset, Math.min(most, length), position);
    },
  } as unknown as typeof fs;
  return { state, disk };
}
type Done = (error: NodeJS.ErrnoException | null, count: number, bytes: Uint8Array) => void;

describe("AppendFile", () => {
  it("keeps lines until a flush", async () => {
    const file = open();
    file.append("é\n");
    expect(read()).toBe("");
    await file.flush();
    expect(read()).toBe("é\n");
    expect(file.size).toBe(3);
  });

  it("writes in the background, one write at a time, in order", async () => {
    const { state, disk } = smallDisk(10_000);
    const file = open({ fs: disk });
    const lines = numbers(50_000);
    for (const [i, line] of lines.entries()) {
      file.append(line);
      if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(state.writes).toBeGreaterThan(0);
    await Promise.all([file.flush(), file.flush()]);
    expect(read()).toBe(lines.join(""));
    expect(state.mostInFlight).toBe(1);
  });

  it("flushes at once while a write is on its way", async () => {
    const { disk } = smallDisk(1000);
    const file = open({ fs: disk });
    const lines = numbers(30_000);
    for (const [i, line] of lines.entries()) {
      file.append(line);
      if (i % 700 === 0) file.flushSync();
      if (i % 11_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const waiting = file.flush();
    file.flushSync();
    expect(read()).toBe(lines.join(""));
    await waiting;
    await file.close();
    expect(read()).toBe(lines.join(""));
  });

  it("keeps what a full disk did not take, and says so at each flush", async () => {
    const { state, disk } = smallDisk();
    const file = open({ fs: disk });
    file.append("first\n");
    await file.flush();
    state.isFull = true;
    file.append("second\n");
    await expect(file.flush()).rejects.toThrow(`${path}: the disk is full (ENOSPC). Free some space`);
    file.append("third\n");
    await expect(file.flush()).rejects.toThrow("the disk is full");
    expect(() => file.flushSync()).toThrow("the disk is full");
    state.isFull = false;
    await file.flush();
    expect(read()).toBe("first\nsecond\nthird\n");
  });

  it("does not ask a full disk at every line", () => {
    const { state, disk } = smallDisk();
    const file = open({ fs: disk });
    state.isFull = true;
    for (const line of numbers(100_000)) file.append(line);
    expect(state.writes).toBe(1);
    state.isFull = false;
  });

  it("bounds what waits for a full disk, and counts what is lost", async () => {
    const { state, disk } = smallDisk();
    const file = open({ fs: disk, mostWaiting: 1000 });
    state.isFull = true;
    for (const line of numbers(1000)) file.append(line);
    await expect(file.flush()).rejects.toThrow("the disk is full");
    state.isFull = false;
    await expect(file.flush()).rejects.toThrow(/lines\.txt: \d{3} lines were lost while it could not be written/);
    file.append("last\n");
    await file.flush();
    expect(read()).toMatch(/^(line \d+\n)+last\n$/);
  });

  it("waits for a disk that is slow instead of losing lines", () => {
    const file = open({ mostWaiting: 1000 });
    const lines = numbers(10_000);
    for (const line of lines) file.append(line);
    file.flushSync();
    expect(read()).toBe(lines.join(""));
  });

  it("closes the file though the disk is full", async () => {
    const { state, disk } = smallDisk();
    const file = AppendFile.open("test", path, { fs: disk });
    state.isFull = true;
    file.append("lost\n");
    await expect(file.close()).rejects.toThrow("the disk is full");
    await file.close();
  });

  it.each(["one\ntwo\nthr", "one\ntwo\n\0\0\0", `one\ntwo\n${"x".repeat(300_000)}`])(
    "cuts a torn end off: %.20j",
    async (text) => {
      writeFileSync(path, text);
      const file = open();
      file.append("three\n");
      await file.flush();
      expect(read()).toBe("one\ntwo\nthree\n");
    },
  );

  it.each(["", "torn", "x".repeat(200_000)])("begins anew where no line is whole: %.10j", async (text) => {
    writeFileSync(path, text);
    const file = open();
    expect(file.size).toBe(0);
    expect(statSync(path).size).toBe(0);
  });

  it.each([
    ["short lines", numbers(9000)],
    ["empty lines", numbers(9).flatMap((line) => [line, "\n", "\n"])],
    ["long lines", numbers(12).map((line, i) => "z".repeat(i % 2 ? 200_000 : 65_536) + line)],
  ])("truncates after any line: %s", (_, lines) => {
    for (const keep of [0, 1, 2, Math.floor(lines.length / 2), lines.length - 1, lines.length]) {
      writeFileSync(path, lines.join(""));
      const file = AppendFile.open("test", path);
      let left = lines.length;
      file.truncateAfter({ step: keep, count: 1 }, (line) => {
        if (`${line}\n` !== lines[left - 1]) throw new Error(`line ${left} is another one`);
        return left--;
      });
      file.append("more\n");
      file.flushSync();
      expect(read() === `${lines.slice(0, keep).join("")}more\n`).toBe(true);
      void file.close();
    }
  });

  it.each([
    [{ step: 2, count: 0 }, ["header", "1 a"]],
    [{ step: 2, count: 1 }, ["header", "1 a", "2 a"]],
    [{ step: 2, count: 2 }, ["header", "1 a", "2 a", "2 b"]],
    [{ step: 2, count: 9 }, ["header", "1 a", "2 a", "2 b", "2 c"]],
    [{ step: 3, count: 1 }, ["header", "1 a", "2 a", "2 b", "2 c"]],
    [{ step: 4, count: 1 }, ["header", "1 a", "2 a", "2 b", "2 c", "no record", "4 a"]],
    [{ step: -1, count: 0 }, ["header"]],
  ])("keeps so many records of a step: %j", (last, kept) => {
    writeFileSync(path, "header\n1 a\n2 a\n2 b\n2 c\nno record\n4 a\n4 b\n");
    const file = open();
    file.truncateAfter(last, (line) => (line === "header" ? -Infinity : Number(/^\d+/.exec(line)?.[0] ?? undefined)));
    expect(read()).toBe(`${kept.join("\n")}\n`);
  });

  it("says what is in the way", () => {
    mkdirSync(path);
    expect(() => open()).toThrow(`${path}: a directory stands where the file should be (EISDIR). Move it away`);
    path = join(folder, "link");
    symlinkSync("/etc/hostname", path);
    expect(() => open()).toThrow(`${path}: it is a symbolic link (ELOOP)`);
    path = join(folder, "none/file");
    expect(() => open()).toThrow(`${path}: it does not exist (ENOENT)`);
  });

  it("has one listener at the process's end for all files, and none when they are closed", async () => {
    const before = process.listenerCount("exit");
    const files = Array.from({ length: 20 }, (_, i) => AppendFile.open("test", join(folder, `${i}`)));
    expect(process.listenerCount("exit")).toBe(before + 1);
    await Promise.all(files.map((file) => file.close()));
    expect(process.listenerCount("exit")).toBe(before);
  });
});
