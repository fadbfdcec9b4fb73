// A directory of checkpoints that something happened to: damage, newer versions, leftovers, other users.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
} from "node:fs";
import { rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import { openDirectoryStore } from "./directory-store.ts";
import type { CheckpointStore } from "../store.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-dir-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const FILES = ["model.safetensors", "optimizer.safetensors", "state.json"];
const sample = `${home}/sample`;
let count = 0;

beforeAll(async () => {
  const store = await openDirectoryStore(sample, { thread: false });
  for (const step of [1, 2]) {
    const files = FILES.map((name, i) => [name, new Uint8Array(3000).fill(step * 10 + i)] as const);
    const info = { step, epoch: 0, reason: "interval", metrics: { loss: 0.5 }, time: step, runId: "r" } as const;
    await store.save(`step-${step}`, Object.fromEntries(files), info);
  }
  await store.close();
});

/** A copy of two good checkpoints, with something done to the second. */
function withDamage(damage: (newest: string) => void): string {
  const root = `${home}/${++count}`;
  cpSync(sample, root, { recursive: true });
  damage(`${root}/step-2`);
  return root;
}

const reader = (root: string): Promise<CheckpointStore> => openDirectoryStore(root, { readOnly: true, thread: false });

function flipBit(file: string, byte: number, bit: number): void {
  const data = readFileSync(file);
  data[byte]! ^= 1 << bit;
  writeFileSync(file, data);
}

describe("a link in the place of a checkpoint", () => {
  /** The newest one, moved to another disk and linked. */
  const moved = (): string =>
    withDamage((newest) => {
      renameSync(newest, `${newest}-elsewhere`);
      mkdirSync(`${home}/disk-${count}`);
      renameSync(`${newest}-elsewhere`, `${home}/disk-${count}/step-2`);
      symlinkSync(`${home}/disk-${count}/step-2`, newest);
    });
  const reason = "it is a link, and links to other places are not followed";

  test("is not passed over in silence", async () => {
    const root = moved();
    const store = await reader(root);
    const { checkpoint, skipped } = await store.load();
    expect(checkpoint.name).toBe("step-1");
    expect(skipped).toEqual([{ name: "step-2", file: `${root}/step-2`, reason }]);
    await expect(store.load({ name: "step-2" })).rejects.toThrow(`${root}/step-2: ${reason}. Move the checkpoint back`);
    expect((await store.list()).map(({ name }) => name)).toEqual(["step-1"]);
  });

  test("that leads nowhere is not either; a second name for one beside it is", async () => {
    const root = withDamage((newest) => symlinkSync("nowhere", `${newest}-lost`));
    symlinkSync("step-2", `${root}/latest`);
    symlinkSync(`${root}/step-1`, `${root}/first`);
    const { checkpoint, skipped } = await (await reader(root)).load();
    expect(checkpoint.name).toBe("step-2");
    expect(skipped.map(({ name }) => name)).toEqual(["step-2-lost"]);
  });
});

describe.each([...FILES, "manifest.json"])("%s", (file) => {
  const cases: Readonly<Record<string, (path: string) => void>> = {
    missing: (path) => rmSync(path),
    empty: (path) => truncateSync(path, 0),
    "one byte short": (path) => truncateSync(path, readFileSync(path).length - 2),
    longer: (path) => writeFileSync(path, "x", { flag: "a" }),
    "with one bit flipped": (path) => flipBit(path, 120, 3),
    "a directory": (path) => {
      rmSync(path);
      mkdirSync(path);
    },
    "a link to another": (path) => {
      rmSync(path);
      symlinkSync(`${sample}/step-2/${file}`, path);
    },
  };

  test.each(Object.entries(cases))("%s: the one before is loaded, and the file is named", async (_, damage) => {
    const root = withDamage((newest) => damage(`${newest}/${file}`));
    const store = await reader(root);
    const { checkpoint, skipped } = await store.load();
    expect(checkpoint.name).toBe("step-1");
    expect(skipped).toEqual([{ name: "step-2", file: `${root}/step-2/${file}`, reason: expect.any(String) }]);
    await expect(store.load({ name: "step-2" })).rejects.toMatchObject({ file: `${root}/step-2/${file}` });
    await expect(store.verify("step-2")).rejects.toMatchObject({ file: `${root}/step-2/${file}` });
    await store.verify("step-1");
  });
});

test("every bit of a manifest counts", async () => {
  const root = withDamage(() => undefined);
  const path = `${root}/step-2/manifest.json`;
  const good = readFileSync(path);
  const store = await reader(root);
  let unnoticed = 0;
  for (let byte = 0; byte < good.length; byte++) {
    const data = Buffer.from(good);
    data[byte]! ^= 1 << (byte % 8);
    writeFileSync(path, data);
    if ((await store.list()).length === 2) unnoticed++;
  }
  expect(unnoticed).toBe(0);
  expect(good.length).toBeGreaterThan(500);
});

test("a newer schema version is an error, not a reason to go back", async () => {
  const root = withDamage((newest) => {
    const path = `${newest}/manifest.json`;
    writeFileSync(path, readFileSync(path, "utf8").replace(`"schema": 1`, `"schema": 2`));
  });
  const store = await reader(root);
  await expect(store.load()).rejects.toThrow(
    /step-2: it was written by a newer hookline \(schema version 2\)\. Update hookline/,
  );
  expect((await store.list()).map(({ name }) => name)).toEqual(["step-1"]);
  expect((await store.load({ name: "step-1" })).checkpoint.step).toBe(1);
});

test("all damaged: the error names each file", async () => {
  const root = withDamage((newest) => rmSync(`${newest}/state.json`));
  flipBit(`${root}/step-1/model.safetensors`, 5, 0);
  await expect((await reader(root)).load()).rejects.toThrow(/step-2\/state\.json: it is missing; .*step-1\/model/);
});

test("sizes alone do not see a flipped bit, and say so by their name", async () => {
  const root = withDamage((newest) => flipBit(`${newest}/state.json`, 5, 0));
  const store = await openDirectoryStore(root, { readOnly: true, verify: "sizes", thread: false });
  expect((await store.load()).checkpoint.name).toBe("step-2");
  // Whoever asks to verify wants to know.
  await expect(store.verify("step-2")).rejects.toThrow(/state\.json: its SHA-256 is not the manifest's/);
});

test("opening sweeps what crashes left, and puts back one that was being replaced", async () => {
  const root = withDamage((newest) => renameSync(newest, `${newest}/../.old-x`));
  cpSync(`${root}/step-1`, `${root}/.tmp-a`, { recursive: true });
  cpSync(`${root}/step-1`, `${root}/.trash-b`, { recursive: true });
  writeFileSync(`${root}/.lock-c`, "");
  // Before any sweep, readers find it where it is.
  expect((await (await reader(root)).load()).checkpoint).toMatchObject({ name: "step-2", dir: `${root}/.old-x` });
  const store = await openDirectoryStore(root, { thread: false });
  expect((await store.list()).map(({ name }) => name)).toEqual(["step-1", "step-2"]);
  await store.close();
  expect(readdirSync(root).sort()).toEqual(["step-1", "step-2"]);
});

test("one that was replaced goes when its successor is whole, and comes back when it is not", async () => {
  for (const isWhole of [true, false]) {
    const root = withDamage((newest) => cpSync(newest, join(newest, "../.old-x"), { recursive: true }));
    if (!isWhole) flipBit(`${root}/step-2/model.safetensors`, 7, 7);
    const store = await openDirectoryStore(root, { thread: false });
    const { checkpoint, skipped } = await store.load();
    expect([checkpoint.name, skipped]).toEqual(["step-2", []]);
    await store.close();
    expect(readdirSync(root).sort()).toEqual(["step-1", "step-2"]);
  }
});

test("reading takes no lock, makes nothing and writes nothing", async () => {
  const store = await reader(`${home}/nowhere`);
  expect(await store.list()).toEqual([]);
  await expect(store.load()).rejects.toThrow(/there is no checkpoint here/);
  const info = { step: 1, epoch: 0, reason: "last", metrics: {}, time: 1, runId: "r" } as const;
  await expect(store.save("a", {}, info)).rejects.toThrow(/opened to read only/);
  expect(existsSync(`${home}/nowhere`)).toBe(false);
});

test("a file where the directory should be is a CheckpointError", async () => {
  copyFileSync(`${sample}/step-1/state.json`, `${home}/file`);
  await expect(openDirectoryStore(`${home}/file`)).rejects.toBeInstanceOf(CheckpointError);
  await expect(openDirectoryStore(`${home}/file/deeper`)).rejects.toBeInstanceOf(CheckpointError);
});
