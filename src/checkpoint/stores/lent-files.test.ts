// Files that are written from memory which others go on using, and which moves.
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import { openDirectoryStore } from "./directory-store.ts";
import { withLentFiles } from "./lent-files.ts";
import type { CheckpointStore } from "../store.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-lent-`);
let store: CheckpointStore;
beforeAll(async () => {
  store = await openDirectoryStore(`${home}/store`);
});
afterAll(async () => {
  await store.close();
  rmSync(home, { recursive: true, force: true });
});

const info = { step: 1, epoch: 0, reason: "interval", metrics: {}, time: 1, runId: "r" } as const;
const pattern = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31) % 251);
const header = new TextEncoder().encode("header");
/** More than the system takes in at once. */
const LARGE = 3 << 20;
const newFolder = (): string => mkdtempSync(`${home}/files-`);
const sizesOf = async (sizes: Record<string, number>): Promise<Record<string, number>> => sizes;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Bytes whose place changes; what lies in the old place afterwards is something else. */
class Moving {
  asked = 0;
  #bytes = pattern(LARGE);

  readonly parts = (): readonly Uint8Array[] => {
    this.asked++;
    return [header, this.#bytes.subarray(0, 5), new Uint8Array(0), this.#bytes.subarray(5)];
  };

  move(): void {
    const { buffer } = this.#bytes;
    this.#bytes = this.#bytes.slice();
    new Uint8Array(structuredClone(buffer, { transfer: [buffer] })).fill(255);
  }
}

test("the bytes lie where they lie, and are saved and read back", async () => {
  const memory = new WebAssembly.Memory({ initial: 100 });
  const view = (): Uint8Array => new Uint8Array(memory.buffer, 1000, LARGE);
  view().set(pattern(LARGE));
  const saving = store.saveLent!("wasm", { "state.json": header }, { model: () => [header, view()] }, info);
  // As the next step does.
  memory.grow(50);
  const saved = await saving;
  expect(Object.keys(saved.files)).toEqual(["model", "state.json"]);
  expect(saved.files["model"]!.bytes).toBe(LARGE + header.length);
  await store.verify("wasm");
  expect(Buffer.compare(await store.read("wasm", "model"), Buffer.concat([header, pattern(LARGE)]))).toBe(0);
});

test("one file after the other, which leaves training a processor of two", async () => {
  const begun: string[] = [];
  const lend = (file: string) => () => (begun.push(file), [header]);
  const written = withLentFiles(newFolder(), { model: lend("model"), optimizer: lend("optimizer") }, sizesOf);
  expect(begun).toEqual(["model"]);
  expect(await written).toEqual({ model: header.length, optimizer: header.length });
  expect(new Set(begun)).toEqual(new Set(["model", "optimizer"]));
});

test("what was written while the bytes moved is written again", async () => {
  const dir = newFolder();
  const moving = new Moving();
  const written = withLentFiles(dir, { model: moving.parts }, sizesOf);
  moving.move();
  expect(await written).toEqual({ model: LARGE + header.length });
  expect(moving.asked).toBeGreaterThan(1);
  expect(Buffer.compare(readFileSync(`${dir}/model`), Buffer.concat([header, pattern(LARGE)]))).toBe(0);
});

test("and when they move all the time, in one go", async () => {
  const dir = newFolder();
  const moving = new Moving();
  const state = { isDone: false };
  const written = withLentFiles(dir, { model: moving.parts }, sizesOf).finally(() => (state.isDone = true));
  while (!state.isDone) {
    moving.move();
    await turn();
  }
  await written;
  expect(moving.asked).toBeLessThan(10);
  expect(Buffer.compare(readFileSync(`${dir}/model`), Buffer.concat([header, pattern(LARGE)]))).toBe(0);
});

const openFiles = (): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(home) ? [path] : [];
    } catch {
      return []; // the one with which the list was read
    }
  });

test("an error is a CheckpointError about the checkpoint; nothing is left of it", async () => {
  const model = (): never => {
    throw new Error("the array is gone");
  };
  const failing = { other: () => [pattern(LARGE)], model };
  const error = await store.saveLent!("failed", {}, failing, info).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(CheckpointError);
  expect((error as CheckpointError).file).toBe(`${home}/store/failed/model`);
  // The lock has a socket beside it, `.alive-….lock`.
  const left = readdirSync(`${home}/store`).filter((name) => !name.endsWith(".lock"));
  expect(left).toEqual(["wasm"]);
  if (process.platform === "linux") expect(openFiles()).toEqual([]);
});

test("a file that is there already is not written over", async () => {
  const dir = newFolder();
  writeFileSync(`${dir}/model`, "mine");
  await expect(withLentFiles(dir, { model: () => [header] }, sizesOf)).rejects.toMatchObject({ file: `${dir}/model` });
  expect(readFileSync(`${dir}/model`, "utf8")).toBe("mine");
});

test("names are checked before anything is made", async () => {
  await expect(store.saveLent!("a", {}, { "../b": () => [header] }, info)).rejects.toThrow(/a file's name/);
  await expect(store.saveLent!("../a", {}, {}, info)).rejects.toThrow(/a checkpoint's name/);
});
