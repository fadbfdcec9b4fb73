// A process whose lock was taken away: it stops with an error that says so, and writes nothing more.
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, expect, test } from "vitest";
import { openDirectoryStore } from "../../src/checkpoint/index.ts";
import { DataLoader } from "../../src/data/index.ts";
import { logger, LockLostError, modelCheckpoint, Trainer, type Hook } from "../../src/index.ts";
import { linear, mse } from "../../src/nn/index.ts";
import { sgd } from "../../src/optim/index.ts";
import { openJournal } from "../../src/tune/journal.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-lost-lock-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const x = { data: new Float32Array(64), shape: [32, 2] };
const y = { data: new Float32Array(32), shape: [32, 1] };

/** Another process's lock, put in the place of the one that is there. */
function replaceLock(dir: string): void {
  expect(existsSync(`${dir}/.lock`)).toBe(true);
  writeFileSync(`${dir}/.lock-other`, JSON.stringify({ pid: 7, host: "elsewhere", started: "1", time: 1 }));
  renameSync(`${dir}/.lock-other`, `${dir}/.lock`);
}

/** Every file with its size and its time. The socket of a lock goes with the process. */
const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .sort()
    .map((path) => `${path} ${statSync(path).size} ${statSync(path).mtimeMs}`);

const BY_OTHER = /\.lock: process 7 on elsewhere has taken the lock .* This process writes nothing more there/;

test.each([
  ["with checkpoints and logs", true, true],
  ["with checkpoints", true, false],
  ["with logs", false, true],
])("a training %s", async (name, checkpoints, logs) => {
  const runDir = `${home}/${name}`;
  let before: string[] = [];
  const thief: Hook = {
    name: "thief",
    stage: "logger",
    async onStepEnd({ step, checkpoints: { lock } }) {
      if (step !== 10) return;
      expect(await lock()).toMatchObject({ file: `${runDir}/checkpoints/.lock` });
      replaceLock(`${runDir}/checkpoints`);
      before = filesIn(runDir);
    },
  };
  const trainer = new Trainer({
    model: linear(2, 1),
    loss: mse(),
    optimizer: sgd({ lr: 0.1 }),
    train: new DataLoader({ x, y }, { batchSize: 4 }),
    steps: 2000,
    logEvery: 1,
    save: "sync",
    engine: "wasm",
    runDir,
    hooks: [
      ...(checkpoints ? [modelCheckpoint({ every: "4 steps", saveLast: 1000, maxFailures: 1000 })] : []),
      ...(logs ? [logger(["jsonl", "csv", "tensorboard"], { flushEvery: checkpoints ? 1e6 : 0 })] : []),
      thief,
    ],
    warn: () => undefined,
  });
  const error = await trainer.fit().then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  const lost = error instanceof LockLostError ? error : error?.cause;
  expect(lost).toBeInstanceOf(LockLostError);
  expect((lost as Error).message).toMatch(BY_OTHER);
  const logsChange = logs && !checkpoints;
  // What the logging thread was writing at that very moment may have arrived.
  if (!logsChange) expect(filesIn(runDir)).toEqual(before);
  else expect(readFileSync(`${runDir}/run.json`, "utf8")).toContain('"running"');
  expect(readFileSync(`${runDir}/checkpoints/.lock`, "utf8")).toContain("elsewhere");
  await trainer.close();
});

test("a store neither saves nor removes nor sweeps", async () => {
  const dir = `${home}/store`;
  const store = await openDirectoryStore(dir);
  const info = { step: 1, epoch: 0, reason: "user", metrics: {}, time: 1, runId: "a" } as const;
  await store.save("one", { model: new Uint8Array(4) }, info);
  replaceLock(dir);
  const before = filesIn(dir);
  await expect(store.save("two", { model: new Uint8Array(4) }, info)).rejects.toThrow(BY_OTHER);
  await expect(store.save("one", { model: new Uint8Array(4) }, info)).rejects.toThrow(LockLostError);
  await expect(store.remove(["one"])).rejects.toThrow(LockLostError);
  writeFileSync(`${dir}/.tmp-other`, "half a save of the new holder");
  await expect(store.sweep()).rejects.toThrow(LockLostError);
  rmSync(`${dir}/.tmp-other`);
  expect(filesIn(dir)).toEqual(before);
  await store.close();
  expect(readFileSync(`${dir}/.lock`, "utf8")).toContain("elsewhere");
});

test("a lock that was removed is lost too", async () => {
  const store = await openDirectoryStore(`${home}/removed`);
  rmSync(`${home}/removed/.lock`);
  const info = { step: 1, epoch: 0, reason: "user", metrics: {}, time: 1, runId: "a" } as const;
  await expect(store.save("one", {}, info)).rejects.toThrow(/\.lock: the lock was removed while this process was/);
  await store.close();
});

test("a study's journal takes no line", () => {
  const dir = `${home}/study`;
  const journal = openJournal(dir);
  const line = { kind: "retry", trial: 1, at: 0 } as never;
  journal.append(line);
  replaceLock(dir);
  const before = filesIn(dir);
  expect(() => journal.append(line)).toThrow(BY_OTHER);
  expect(filesIn(dir)).toEqual(before);
  journal.close();
});
