// How a run stands, from the files that it, or a killed process, left behind; and how little is read for a list of runs.
import { spawnSync } from "node:child_process";
import fs, { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { thisProcess } from "./liveness.ts";
import { lockDirectory } from "./lock.ts";
import { headerLine, recordLine } from "./log-lines.ts";
import { writeResults } from "./results.ts";
import { statusNow } from "./describe-run.ts";
import { listRuns, summarizeRun } from "./summary.ts";

/** As a run leaves it in the middle: its log. */
function leaveRun(dir: string, started: string): void {
  const about = { ...thisProcess(), started };
  const log = { schema: "hookline.run", version: 1, status: "running", startedAt: 1, totalSteps: 10, about };
  writeFileSync(`${dir}/run.json`, JSON.stringify(log));
}

test.runIf(process.platform === "linux")("a run whose pid another process has now was killed", async () => {
  const dir = tempDir();
  const status = async (): Promise<string> => (await summarizeRun(dir))!.status;
  leaveRun(dir, thisProcess().started);
  expect(await status()).toBe("running");
  leaveRun(dir, "1");
  expect(await status()).toBe("killed");
});
/** A directory without a lock. */
const NOWHERE = tmpdir();

test("a run of a process that lives is running; of one that is gone, killed", () => {
  expect(statusNow("running", NOWHERE, thisProcess())).toBe("running");
  expect(statusNow("running", NOWHERE, { ...thisProcess(), pid: spawnSync("true").pid })).toBe("killed");
  expect(statusNow("completed", NOWHERE, { ...thisProcess(), pid: spawnSync("true").pid })).toBe("completed");
});

test.runIf(process.platform === "linux")("a pid that another process has now does not keep it running", () => {
  expect(statusNow("running", NOWHERE, { ...thisProcess(), started: "1" })).toBe("killed");
});

test("where the start of the process is not written down, the pid decides", () => {
  expect(statusNow("running", NOWHERE, { pid: process.pid, host: hostname() })).toBe("running");
});

test("of a process on another machine, or of none, nobody can tell", () => {
  expect(statusNow("running", NOWHERE, { ...thisProcess(), host: "elsewhere", pid: 1 })).toBe("running");
  expect(statusNow("running", NOWHERE, {})).toBe("running");
});

test("of a process in another container or boot, which may have any pid, the lock tells, else nobody", () => {
  const dir = tempDir();
  const elsewhere = { ...thisProcess(), pid: spawnSync("true").pid, namespaces: "pid:[1] time:[2]" };
  expect(statusNow("running", dir, elsewhere)).toBe("running");
  const lock = lockDirectory(`${dir}/checkpoints`);
  expect(statusNow("running", dir, elsewhere)).toBe("running");
  const left = { ...thisProcess(), pid: elsewhere.pid, time: 1, token: "none" };
  writeFileSync(lock.file, JSON.stringify(left));
  expect(statusNow("running", dir, elsewhere)).toBe("killed");
});

/** Leaves a run with this many records, of which the first has the best loss. */
function leaveLog(dir: string, records: number, info: object): void {
  mkdirSync(dir, { recursive: true });
  const common = { schema: "hookline.run", version: 1, startedAt: 1, totalSteps: records, about: {} };
  writeFileSync(`${dir}/run.json`, JSON.stringify({ ...common, ...info }));
  const lines = Array.from({ length: records }, (_, i) => {
    const scalars = { "val/loss": i === 0 ? 0.125 : 1 + i, lr: 0.1 };
    return recordLine({ step: i + 1, epoch: 0, time: 1, elapsed: i + 1, scalars, media: {} });
  });
  writeFileSync(`${dir}/metrics.jsonl`, headerLine("metrics", { id: "a", startedAt: 1 }) + lines.join(""));
}

const BEST = { "val/loss": { value: 0.125, step: 1 } };

test("a short log gives the best exactly, also of a run of an older version", async () => {
  const dir = tempDir();
  leaveLog(dir, 20, { status: "completed", step: 20, elapsed: 20, metrics: { "val/loss": 20, lr: 0.1 } });
  expect(await summarizeRun(dir)).toMatchObject({ best: BEST, exact: true, step: 20, metrics: ["val/loss", "lr"] });
});

test("of a long log without `best` in run.json, only the last records count, and the summary says so", async () => {
  const dir = tempDir();
  leaveLog(dir, 2000, { status: "completed", step: 2000, elapsed: 3, metrics: { "val/loss": 2000, "test/loss": 7 } });
  const found = (await summarizeRun(dir))!;
  expect(found).toMatchObject({ exact: false, step: 2000, elapsed: 3 });
  // At the end of the log, and what run.json has of one that is not there.
  expect(found.best["val/loss"]!.step).toBeGreaterThan(1700);
  expect(found.best["test/loss"]).toEqual({ value: 7, step: 2000 });
  expect(await summarizeRun(dir, { exact: true })).toMatchObject({ best: BEST, exact: true });
});

test("a running run is exact where its last records begin before what run.json covers", async () => {
  const dir = tempDir();
  const begun = { status: "running", about: thisProcess() };
  leaveLog(dir, 2000, { ...begun, step: 1990, elapsed: 1990, metrics: { "val/loss": 1990 }, best: BEST });
  expect(await summarizeRun(dir)).toMatchObject({
    status: "running",
    best: BEST,
    exact: true,
    step: 2000,
    elapsed: 2000,
  });
  leaveLog(dir, 2000, { ...begun, step: 10, elapsed: 10, metrics: { "val/loss": 10 }, best: BEST });
  expect(await summarizeRun(dir)).toMatchObject({ best: BEST, exact: false, step: 2000 });
});

test("a run.json of an ended run is enough: the log is not opened", async () => {
  const dir = tempDir();
  const best = { "val/loss": { value: "NaN", step: 3 } };
  leaveLog(dir, 5, { status: "completed", step: 5, elapsed: 2, metrics: { "val/loss": "NaN", lr: 1 }, best });
  const opened = countOpened();
  expect(await summarizeRun(dir)).toMatchObject({ best: { "val/loss": { value: NaN, step: 3 } }, exact: true });
  expect(opened()).toEqual({ files: 1, logBytes: 0 });
});

/** Counts files that are opened, and bytes that are read of logs. */
function countOpened(): () => { files: number; logBytes: number } {
  const { openSync, readSync } = fs;
  const logs = new Map<number, boolean>();
  let [files, logBytes] = [0, 0];
  vi.spyOn(fs, "openSync").mockImplementation((path, ...rest) => {
    const fd = openSync(path, ...rest);
    logs.set(fd, String(path).endsWith("metrics.jsonl"));
    files++;
    return fd;
  });
  vi.spyOn(fs, "readSync").mockImplementation((fd: number, ...rest: unknown[]) => {
    const bytes = (readSync as (...all: unknown[]) => number)(fd, ...rest);
    if (logs.get(fd)) logBytes += bytes;
    return bytes;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  return () => ({ files, logBytes });
}

test("a list of runs reads at most 16 KB of each log, and opens each file once", async () => {
  const root = tempDir();
  for (let i = 0; i < 30; i++)
    leaveLog(`${root}/group/run-${i}`, 2000, {
      status: "completed",
      step: 2000,
      elapsed: 1,
      metrics: { "val/loss": 1 },
    });
  const opened = countOpened();
  expect(await listRuns(root)).toHaveLength(30);
  const { files, logBytes } = opened();
  expect(files).toBe(60);
  expect(logBytes).toBeGreaterThan(0);
  expect(logBytes).toBeLessThanOrEqual(30 * 16 * 1024);
});

test("a list has runs at any depth, folds only when their run is asked for, and experiments without a log", async () => {
  const root = tempDir();
  leaveLog(`${root}/a`, 3, { status: "completed", step: 3 });
  leaveLog(`${root}/a/fold-1`, 3, { status: "completed", step: 3 });
  leaveLog(`${root}/a/checkpoints/x`, 3, { status: "completed", step: 3 });
  leaveLog(`${root}/group/b`, 3, { status: "completed", step: 3 });
  await writeResults(`${root}/group`, RESULTS);
  await writeResults(`${root}/unlogged`, RESULTS);
  const names = async (dir: string): Promise<string[]> => (await listRuns(dir)).map(({ name }) => name).sort();
  expect(await names(root)).toEqual(["a", "group/b", "unlogged"]);
  expect(await names(`${root}/a`)).toEqual(["a", "fold-1"]);
  expect(await names(`${root}/none`)).toEqual([]);
});

const RESULTS = {
  name: "x",
  status: "running",
  reason: "",
  requestedBy: "",
  seed: 0,
  startedAt: 1,
  endedAt: null,
  models: {},
} as const;

const ODD = [null, true, -1, 1e300, "", "x", [], [null], {}, { a: null }, { "val/loss": { value: null } }];

/** Every field of an object, and of the objects in it, with an odd value. */
function* variants(whole: object): Generator<object> {
  for (const [name, value] of Object.entries(whole)) {
    for (const odd of ODD) yield { ...whole, [name]: odd };
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      for (const inner of variants(value)) yield { ...whole, [name]: inner };
  }
}

test("files that are not as hookline writes them are no runs, and hide no others", async () => {
  const root = tempDir();
  leaveLog(`${root}/good`, 3, { status: "completed", step: 3, elapsed: 1, metrics: {}, best: BEST });
  const whole = JSON.parse(readFileSync(`${root}/good/run.json`, "utf8")) as object;
  mkdirSync(`${root}/odd/metrics.jsonl`, { recursive: true });
  mkdirSync(`${root}/other`);
  await writeResults(`${root}/other`, {
    name: "other",
    status: "running",
    reason: "",
    requestedBy: "",
    seed: 0,
    startedAt: 1,
    endedAt: null,
    models: { main: { complete: false, params: {}, results: { "test/loss": 1 } } },
  });
  const results = JSON.parse(readFileSync(`${root}/other/results.json`, "utf8")) as object;
  const check = async (file: string, text: string): Promise<void> => {
    writeFileSync(file, text);
    const found = await listRuns(root);
    expect(
      found.map(({ name }) => name),
      text,
    ).toContain("good");
    for (const { startedAt, best, step, elapsed } of found) {
      expect(
        [startedAt, step, elapsed].map((each) => typeof each),
        text,
      ).toEqual(["number", "number", "number"]);
      expect(() => new Date(startedAt).toISOString(), text).not.toThrow();
      for (const each of Object.values(best)) expect(typeof each.value, text).toBe("number");
    }
  };
  for (const odd of [...variants(whole), ...ODD]) await check(`${root}/odd/run.json`, JSON.stringify(odd));
  for (const odd of [...variants(results), ...ODD]) await check(`${root}/other/results.json`, JSON.stringify(odd));
});
