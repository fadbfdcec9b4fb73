// A disk that fails while a run trains on: a full one, one that turns read-only, one that loses what is synced.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { modelCheckpoint, type Trainer } from "hookline";
import { CheckpointError, memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { tinyTrainer } from "hookline/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeFs } from "../../src/platform/durable-files.ts";
import { lockDirectory } from "../../src/runs/lock.ts";
import type { Fault } from "./failing-disk.ts";
import { newFolder, straceWorks } from "./strace.ts";
import type { TrainingNote } from "./training-child.ts";
import { compileTraining, intactCheckpoints, startTraining, train } from "./training.ts";

if (!straceWorks) console.warn("Disk errors during training are skipped: apt-get install strace, and allow ptrace");
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!canMount) console.warn("A full disk during training is skipped: it needs `unshare -rm` with mount");

/** Small checkpoints, so that several of them fit on a disk of 1 MB. */
const SIZE = { steps: 60, features: 16 };

const home = newFolder();
let whole: TrainingNote;
beforeAll(async () => {
  await compileTraining(home);
  whole = await train(home, { runs: [{ runDir: `${home}/whole` }], ...SIZE });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const notSaved = (warnings: readonly string[]): string[] => warnings.filter((text) => text.includes("was not saved"));
/** A removal may fail as well: that costs room only. */
const others = (warnings: readonly string[]): string[] =>
  warnings.filter((text) => !text.includes("was not saved") && !text.includes("old checkpoints could not be removed"));

/** The run has gone on, and ended as it would have on a good disk. */
function expectUnharmed({ note, step, end }: TrainingNote): void {
  expect({ note, step }).toEqual({ note: "result", step: SIZE.steps });
  const { warnings, digest, status, newest, moreOpenFiles, checkpoints } = end!;
  expect({ status, digest, newest, moreOpenFiles }).toEqual({
    status: "completed",
    digest: whole.end!.digest,
    newest: { step: SIZE.steps, valid: true },
    moreOpenFiles: 0,
  });
  expect(others(warnings)).toEqual([]);
  expect(checkpoints).toEqual(expect.arrayContaining([...whole.end!.checkpoints]));
  expect(checkpoints.filter((name) => name.startsWith(".tmp-"))).toEqual([]);
}

/** The run has ended after three failures in a row, and the last try of the emergency; what was saved before is whole. */
function expectGivenUp({ note, step, error, end }: TrainingNote): void {
  expect(note).toBe("failed");
  expect(step).toBeLessThan(SIZE.steps);
  const { warnings, newest, moreOpenFiles, checkpoints } = end!;
  const { type, cause } = error!;
  expect({ type, cause }).toEqual({ type: "HookError", cause: expect.objectContaining({ type: "CheckpointError" }) });
  expect(cause!.file).toMatch(/^step-0000\d\d$/);
  expect(cause!.message).toMatch(/it could not be saved, 3 times in a row: .*\/run\/checkpoints\/step-0000\d\d/);
  expect(notSaved(warnings).length).toBeGreaterThanOrEqual(4);
  expect(new Set(warnings).size, "a warning for each failure").toBe(warnings.length);
  expect(others(warnings)).toEqual([]);
  expect({ valid: newest.valid, moreOpenFiles }).toEqual({ valid: true, moreOpenFiles: 0 });
  expect(newest.step).toBeGreaterThanOrEqual(12);
  expect(checkpoints.filter((name) => name.startsWith(".tmp-"))).toEqual([]);
}

describe.runIf(canMount)("a disk of its own", () => {
  async function trainOn(kind: Fault["kind"], failures?: number): Promise<TrainingNote> {
    const mount = `${home}/${kind}-${failures ?? "for-ever"}`;
    mkdirSync(mount);
    const fault: Fault = { kind, mount, from: 20, ...(failures !== undefined && { failures }) };
    const inside = ["unshare", "-rm", "sh", "-ec", `mount -t tmpfs -o size=1m none "${mount}" && exec "$@"`, "sh"];
    const child = startTraining(home, { runs: [{ runDir: `${mount}/run`, fault }], ...SIZE }, inside);
    return child.until("result", "failed");
  }

  test.each([
    ["full", "ENOSPC"],
    ["read-only", "EROFS"],
  ] as const)("that is %s for two saves harms nothing", async (kind, code) => {
    const ended = await trainOn(kind, 2);
    expectUnharmed(ended);
    expect(notSaved(ended.end!.warnings)).toEqual([expect.stringContaining(code), expect.stringContaining(code)]);
  });

  test.each([
    ["full", "ENOSPC"],
    ["read-only", "EROFS"],
  ] as const)("that stays %s ends the run", async (kind, code) => {
    const ended = await trainOn(kind);
    expectGivenUp(ended);
    expect(ended.error!.message).toContain(code);
  });
});

describe.runIf(straceWorks)("syncs that fail", () => {
  /** `when` counts the calls of the writing thread: a save has seven, and before the third nothing is removed. */
  async function trainWith(when: string): Promise<TrainingNote> {
    const runDir = `${home}/${when}/run`;
    const trace = `${home}/${when}.trace`;
    const inject = ["-e", "trace=fsync", "-e", `inject=fsync:error=EIO:when=${when}`];
    const strace = ["strace", "-f", "-qq", "-o", trace, ...inject];
    const child = startTraining(home, { runs: [{ runDir }], ...SIZE }, strace);
    const end = await child.until("result", "failed");
    await child.exit;
    expect(readFileSync(trace, "utf8")).toContain("(INJECTED)");
    await intactCheckpoints(runDir);
    return end;
  }

  test("twice harm nothing", async () => {
    // The directory of the second save, then the first file of the next try.
    const ended = await trainWith("13..14");
    expectUnharmed(ended);
    expect(notSaved(ended.end!.warnings)).toEqual([expect.stringContaining("EIO"), expect.stringContaining("EIO")]);
  });

  test("from then on end the run", async () => {
    const ended = await trainWith("20+");
    expectGivenUp(ended);
    expect(ended.error!.message).toContain("EIO");
  });
});

/** A store whose first removal fails. */
function keepsOnce(): CheckpointStore {
  const store = memoryStore();
  let removals = 0;
  const remove: CheckpointStore["remove"] = (names) =>
    ++removals === 1 ? Promise.reject(new Error("as planned")) : store.remove(names);
  return { ...store, remove };
}

const keepsOne = (store: CheckpointStore): Trainer =>
  tinyTrainer({ store, samples: 24, hooks: [modelCheckpoint({ every: 1 })], warn: () => undefined });

test("what could not be removed once is removed by the next run", async () => {
  const store = keepsOnce();
  await using first = keepsOne(store);
  await first.fit();
  await using second = keepsOne(store);
  await second.fit({ resume: "auto", epochs: 2 });
  expect(await store.list()).toHaveLength(1);
});

test("what could not be removed once is removed with the next", async () => {
  const store = keepsOnce();
  await using trainer = keepsOne(store);
  await trainer.fit();
  expect(await store.list()).toHaveLength(1);
});

test("the error after three failures reads well", async () => {
  const save = (): Promise<never> => Promise.reject(new CheckpointError("model.pt", "the disk is full", "Free some."));
  await using trainer = keepsOne({ ...memoryStore(), save });
  const error = (await trainer.fit().catch((thrown: unknown) => thrown)) as Error;
  expect(error.message).toContain("3 times in a row: model.pt: the disk is full. Free some. Earlier checkpoints");
});

test.runIf(canMount)("a run directory that cannot be made on a read-only disk is told so", async () => {
  const mount = `${home}/read-only-from-the-start`;
  mkdirSync(mount);
  const inside = ["unshare", "-rm", "sh", "-ec", `mount -t tmpfs -o ro none "${mount}" && exec "$@"`, "sh"];
  const { error } = await startTraining(home, { runs: [{ runDir: `${mount}/run` }], ...SIZE }, inside).until("failed");
  expect(error!.message).toContain("the file system is read-only (EROFS)");
});

test("a lock that a read-only disk kept does not lock its own process out for good", () => {
  const dir = `${home}/kept-lock`;
  const fs = nodeFs();
  let isReadOnly = false;
  const unlinkSync: typeof fs.unlinkSync = (path) => {
    if (isReadOnly) throw Object.assign(new Error("as planned"), { code: "EROFS" });
    fs.unlinkSync(path);
  };
  const lock = lockDirectory(dir, { ...fs, unlinkSync });
  isReadOnly = true;
  lock.release();
  expect(() => lockDirectory(dir)).not.toThrow();
});
