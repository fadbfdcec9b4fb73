// What every store does, whatever it writes to: memory, a directory, and a directory through the writing thread.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, describe, expect, test } from "vitest";
import { CheckpointError, OptionError } from "../../core/errors.ts";
import { openDirectoryStore } from "./directory-store.ts";
import { memoryStore } from "./memory-store.ts";
import { type CheckpointInfo, type CheckpointStore, sharedBytes } from "../store.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-store-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

let count = 0;
const STORES: Readonly<Record<string, () => Promise<CheckpointStore>>> = {
  memory: async () => memoryStore(),
  directory: () => openDirectoryStore(`${home}/${++count}`, { thread: false }),
  "directory with a thread": () => openDirectoryStore(`${home}/${++count}`),
};

const info = (step: number, more: Partial<CheckpointInfo> = {}): CheckpointInfo => ({
  step,
  epoch: 1,
  reason: "interval",
  metrics: { "val/loss": 1 / step },
  time: 1000 + step,
  runId: "run",
  ...more,
});
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe.each(Object.entries(STORES))("%s", (_, open) => {
  test("gives back what was saved", async () => {
    const store = await open();
    const metrics = { "val/loss": 0.25, bad: NaN, worse: -Infinity, "7": 7 };
    const saved = await store.save("step-1", { a: bytes(1, 2, 3), b: bytes() }, info(1, { metrics, parent: "step-0" }));
    expect(saved).toMatchObject({ name: "step-1", ...info(1, { metrics, parent: "step-0" }) });
    expect(saved.files.a).toEqual({
      bytes: 3,
      sha256: "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81",
    });
    expect(await store.list()).toEqual([saved]);
    expect(await store.load()).toEqual({ checkpoint: saved, files: { a: bytes(1, 2, 3), b: bytes() }, skipped: [] });
    expect(await store.read("step-1", "a")).toEqual(bytes(1, 2, 3));
    await store.close();
  });

  test("parts become one file, wherever they lie", async () => {
    const store = await open();
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 1000, shared: true });
    const onWasm = new Uint8Array(memory.buffer, 70_000, 5).fill(5);
    const large = new Uint8Array(9 << 20).map((_, i) => i % 251);
    const parts = [bytes(1, 2), bytes(), onWasm, sharedBytes(2).fill(7), large, bytes(3)];
    const saved = await store.save("a", { parts, none: [], empty: [bytes()], whole: onWasm }, info(1));
    const { files } = await store.load();
    expect(Object.keys(files)).toEqual(["parts", "none", "empty", "whole"]);
    expect(Buffer.compare(files.parts!, Buffer.concat(parts))).toBe(0);
    expect([files.none, files.empty, files.whole]).toEqual([bytes(), bytes(), bytes(5, 5, 5, 5, 5)]);
    const whole = await store.save("b", { parts: files.parts! }, info(2));
    expect(whole.files.parts).toEqual(saved.files.parts);
    await store.close();
  });

  test("keeps why it was saved in the caller's own words, and who asked", async () => {
    const store = await open();
    const saved = await store.save("a", {}, info(1, { reason: "on a whim", by: ["checkpoint", "mine"] }));
    expect(saved).toMatchObject({ reason: "on a whim", by: ["checkpoint", "mine"] });
    expect(await store.list()).toEqual([saved]);
    expect("by" in (await store.save("b", {}, info(2)))).toBe(false);
    expect("by" in (await store.list())[1]!).toBe(false);
    await store.close();
  });

  test("verifies what is intact, and knows what there is not", async () => {
    const store = await open();
    await store.save("a", { x: bytes(1), y: [bytes(), bytes(2)], z: bytes() }, info(1));
    expect(await store.verify("a")).toBeUndefined();
    await expect(store.verify("b")).rejects.toThrow(/no such checkpoint. There is: a/);
    await store.close();
    await expect(store.verify("a")).rejects.toThrow(/the store is closed/);
  });

  test("lists by step, then by time, and loads the newest", async () => {
    const store = await open();
    await store.save("b", { x: bytes(2) }, info(20));
    await store.save("a", { x: bytes(1) }, info(3));
    await store.save("c", { x: bytes(3) }, info(20, { time: 5000 }));
    expect((await store.list()).map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect((await store.load()).checkpoint.name).toBe("c");
    expect((await store.load({ name: "a", files: ["x"] })).files).toEqual({ x: bytes(1) });
    await store.close();
  });

  test("replaces one of the same name, and removes", async () => {
    const store = await open();
    await store.save("best", { x: bytes(1), old: bytes(1) }, info(1));
    await store.save("best", { x: bytes(2) }, info(2));
    expect((await store.list()).map(({ name, step }) => [name, step])).toEqual([["best", 2]]);
    expect((await store.load({ name: "best" })).files).toEqual({ x: bytes(2) });
    await store.remove(["best", "unknown"]);
    expect(await store.list()).toEqual([]);
    await expect(store.load()).rejects.toBeInstanceOf(CheckpointError);
    await store.close();
  });

  test("does not see later changes of the bytes, nor of those it gave", async () => {
    const store = await open();
    const given = bytes(1);
    await store.save("a", { x: given }, info(1));
    given[0] = 9;
    (await store.read("a", "x"))[0] = 8;
    expect(await store.read("a", "x")).toEqual(bytes(1));
    await store.close();
  });

  test("keeps the order of calls that nobody waited for", async () => {
    const store = await open();
    const plain = new Uint8Array(9 << 20).fill(1);
    const shared = sharedBytes(10).fill(2);
    const all = [store.save("a", { x: plain }, info(1)), store.save("a", { x: shared }, info(2)), store.remove(["b"])];
    expect((await store.load()).checkpoint.step).toBe(2);
    await Promise.all(all);
    await store.close();
  });

  test("refuses names that could be a path, hidden, or a device", async () => {
    const store = await open();
    for (const name of ["", ".hidden", "../up", "a/b", "a\\b", "a b", "nul", "x".repeat(101), "ends."]) {
      await expect(store.save(name, {}, info(1)), name).rejects.toThrow(OptionError);
      await expect(store.save("a", { [name]: bytes(1) }, info(1)), name).rejects.toThrow(OptionError);
    }
    expect(await store.list()).toEqual([]);
    await store.close();
  });

  test("names what there is when asked for what there is not", async () => {
    const store = await open();
    await store.save("step-1", { model: bytes(1) }, info(1));
    await expect(store.load({ name: "step-2" })).rejects.toThrow(
      /no such checkpoint\. Did you mean `step-1`\? There is: step-1/,
    );
    await expect(store.read("step-1", "optimizer")).rejects.toThrow(/no such file. It has: model/);
    await store.close();
    await store.close();
    await expect(store.load()).rejects.toThrow(/the store is closed/);
  });
});
