// Logs survive: kills at random moments lose and repeat no step, and a bad disk is told of and waited for.
import { execFile, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRun } from "../../src/runs/read-run.ts";
import { tailRun, type RunTail } from "../../src/runs/tail.ts";
import { isSoak } from "../support/repetitions.ts";
import { compile, newFolder, straceWorks, Traced } from "./strace.ts";

const KILLS = 20;
/** Runs that are killed so often, one after the other: a single one would have grown to gigabytes after a hundred kills. */
const RUNS = isSoak ? 5 : 1;
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!canMount) console.warn("The full disk is skipped: it needs `unshare -rm` with mount");

const home = newFolder();
beforeAll(() => compile(home, "tests/crash/jsonl-child.ts", "src/loggers/logging-worker.ts"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Starts the child; resolves when its files are open, or at once. */
async function start(dir: string, isEarly: boolean) {
  const child = spawn(process.execPath, [`${home}/jsonl-child.js`, dir, "log"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<string | null>((resolve) => child.on("exit", (_, signal) => resolve(signal)));
  if (!isEarly) await Promise.race([ended, new Promise((resolve) => child.stdout.once("data", resolve))]);
  return {
    isAlive: () => child.exitCode === null && child.signalCode === null,
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What follows `from` in the file: its whole lines, and the torn one. */
function linesFrom(path: string, from: number): { lines: string[]; torn: string } {
  const fd = openSync(path, "r");
  const bytes = Buffer.alloc(fstatSync(fd).size - from);
  readSync(fd, bytes, 0, bytes.length, from);
  closeSync(fd);
  const lines = bytes.toString("utf8").split("\n");
  return { torn: lines.pop()!, lines };
}

/** Follows a file through the kills: what was whole before a checkpoint never changes, so only the rest is read again. */
class Follower {
  readonly #path: string;
  readonly #stepOf: (line: string) => number;
  #offset = 0;
  #step = 0;
  torn = 0;

  constructor(path: string, stepOf: (line: string) => number) {
    this.#path = path;
    this.#stepOf = stepOf;
  }

  /** Cuts the file somewhere after the checkpoint, as if a write had been broken off. */
  tear(): void {
    if (!existsSync(this.#path)) return;
    const { size } = statSync(this.#path);
    const left = this.#offset + Math.floor(Math.random() * (size - this.#offset));
    truncateSync(this.#path, left);
    const { torn } = linesFrom(this.#path, this.#offset);
    if (torn !== "") this.torn++;
  }

  /** Every line is whole but the last, steps follow one another, and none up to the checkpoint is missing. */
  check(checkpoint: number, kill: number): void {
    if (!existsSync(this.#path)) return;
    const { lines, torn } = linesFrom(this.#path, this.#offset);
    if (torn !== "") this.torn++;
    let step = this.#step;
    let offset = this.#offset;
    for (const line of lines) {
      const at = this.#stepOf(line);
      if (at !== 0 && at !== step + 1) throw new Error(`kill ${kill}: ${at} follows step ${step} in ${this.#path}`);
      step = at || step;
      offset += Buffer.byteLength(line) + 1;
      if (step <= checkpoint) [this.#offset, this.#step] = [offset, step];
    }
    if (step < checkpoint)
      throw new Error(`kill ${kill}: ${this.#path} ends at ${step}, before the checkpoint ${checkpoint}`);
  }
}

function stepOfLine(line: string): number {
  const { step = 0, loss } = JSON.parse(line) as { step?: number; loss?: number };
  if (step > 0 && loss !== 1 / step) throw new Error(`step ${step} has the loss ${loss}`);
  return step;
}

/** A reader that holds its position while the run is killed and resumed: it must end up with what is in the file. */
class Watcher {
  readonly #tail: RunTail;
  readonly steps: number[] = [];
  restarts = 0;

  constructor(dir: string) {
    this.#tail = tailRun(dir);
  }

  async look(): Promise<void> {
    const { restarted, records } = await this.#tail.next();
    if (restarted) {
      this.steps.splice(0);
      this.restarts++;
    }
    for (const { step, values } of records) {
      if (values["loss"] !== 1 / step) throw new Error(`step ${step} has the loss ${values["loss"]}`);
      this.steps.push(step);
    }
    if (!this.steps.every((step, i) => step === i + 1)) throw new Error("steps are missing, or there twice");
  }
}

interface Killed {
  readonly checkpoint: number;
  readonly torn: number;
  readonly metrics: Follower;
  readonly watcher: Watcher;
}

async function killAgainAndAgain(dir: string): Promise<Killed> {
  const watcher = new Watcher(dir);
  const metrics = new Follower(`${dir}/metrics.jsonl`, stepOfLine);
  let checkpoint = 0;
  for (let kill = 1; kill <= KILLS; kill++) {
    const isEarly = kill % 5 === 0;
    const before = sizeOf(`${dir}/metrics.jsonl`);
    const child = await start(dir, isEarly);
    // By what it has written, not by the clock: on a busy machine it may not have begun after a second.
    const grown = before + Math.random() * 60_000;
    if (isEarly) await sleep(Math.random() * 120);
    else while (child.isAlive() && sizeOf(`${dir}/metrics.jsonl`) < grown) await sleep(1);
    // While it writes, and sometimes only when it has been resumed and has written more than was there.
    if (kill % 2 === 0) await watcher.look();
    if ((await child.kill()) !== "SIGKILL") throw new Error(`kill ${kill}: the child ended by itself`);
    checkpoint = existsSync(`${dir}.checkpoint`) ? Number(readFileSync(`${dir}.checkpoint`, "utf8")) : 0;
    metrics.check(checkpoint, kill);
    // The system finishes a write that it has begun, nearly always: what it may leave is made here.
    if (kill % 3 === 0) metrics.tear();
  }
  return { checkpoint, torn: metrics.torn, metrics, watcher };
}

// In two lanes, one for each core.
test.concurrent.each(["a", "b"])(
  `${RUNS} × ${KILLS} kills at random moments, lane %s`,
  { timeout: 3_600_000 },
  async (lane) => {
    for (let run = 1; run <= RUNS; run++) expect(await problemsOfKilled(`${home}/run-${lane}${run}`)).toBe(0);
  },
);

/** How many lines the reader could not read, of a run that is as it would be without kills. */
async function problemsOfKilled(dir: string): Promise<number> {
  const { checkpoint, torn, metrics, watcher } = await killAgainAndAgain(dir);
  const last = checkpoint + 1000;
  await promisify(execFile)(process.execPath, [`${home}/jsonl-child.js`, dir, "log", `${last}`]);
  metrics.check(last, KILLS + 1);
  await watcher.look();
  expect([watcher.steps.length, watcher.restarts > 0]).toEqual([last, true]);
  const run = await readRun(dir);
  expect(run.steps.length).toBe(last);
  expect(run.steps.every((step, i) => step === i + 1)).toBe(true);
  expect(run.get("val/loss").steps.length).toBe(Math.floor(last / 100));
  expect(run.info).toMatchObject({ status: "completed", id: "id-1" });
  const rows = readFileSync(`${dir}/metrics.csv`, "utf8").trimEnd().split("\n");
  expect(rows.length).toBe(last + 1);
  expect(rows.slice(1).every((row, i) => row.startsWith(`${i + 1},`))).toBe(true);
  const megabytes = (statSync(`${dir}/metrics.jsonl`).size / 1e6).toFixed(0);
  console.info(`${KILLS} kills, ${torn} torn ends, ${last} steps, ${megabytes} MB`);
  rmSync(dir, { recursive: true });
  return run.problems;
}

test.runIf(straceWorks)("a kill at each call while a run branches off", { timeout: 3_600_000 }, async () => {
  const dir = `${home}/branch`;
  const lines = Array.from(
    { length: 50 },
    (_, i) => `{"step":${i + 1},"epoch":0,"time":1,"elapsed":0,"loss":${1 / (i + 1)}}\n`,
  );
  const old = `{"schema":"hookline.metrics","version":1,"run":"id-0","startedAt":1}\n${lines.join("")}`;
  const reset = (): void => {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    writeFileSync(`${dir}/metrics.jsonl`, old);
  };
  reset();
  const program = [`${home}/jsonl-child.js`, dir, "branch"];
  const child = new Traced(dir, program, `${home}/branch.trace`);
  const touching = await child.record();
  expect(touching.length).toBeGreaterThan(15);
  const points = touching.filter(({ changes }) => changes || isSoak);
  for (const point of points) {
    const at = `${point.call} ${point.nth}`;
    reset();
    expect((await child.inject(point, "signal=SIGKILL")).signal, at).toBe("SIGKILL");
    const left = readFileSync(`${dir}/metrics.jsonl`, "utf8").trimEnd().split("\n");
    expect(left.map(stepOfLine).slice(1, 31), at).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    await promisify(execFile)(process.execPath, program);
    const { steps, problems } = await readRun(dir);
    expect([[...steps], problems], at).toEqual([Array.from({ length: 40 }, (_, i) => i + 1), 0]);
    const files = readdirSync(dir);
    const copies = files.filter((name) => readFileSync(`${dir}/${name}`, "utf8") === old);
    expect(copies.length, `the other run's file after ${at}: ${files.join()}`).toBeGreaterThan(0);
    expect(
      files.filter((name) => name.endsWith(".tmp")),
      at,
    ).toEqual([]);
  }
});

interface Left {
  readonly code: number | null;
  readonly stderr: string;
}

/** A process that ends without the end of its run. */
async function leave(program: string, dir: string, mode: string): Promise<Left> {
  const child = spawn(process.execPath, [program, dir, mode], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (text) => (stderr += String(text)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const { steps, info } = await readRun(dir);
  expect([steps.length, steps.at(-1), info?.status]).toEqual([1234, 1234, "running"]);
  expect(readFileSync(`${dir}/metrics.csv`, "utf8").trimEnd().split("\n").at(-1)).toMatch(/^1234,/);
  return { code, stderr };
}

test.each([
  ["process.exit()", "exit", 3],
  ["an error that nobody catches", "throw", 1],
  ["a process that never closes its run", "end", 0],
])("%s in the middle of a run loses nothing", async (_, mode, code) => {
  const left = await leave(`${home}/jsonl-child.js`, `${home}/${mode}`, mode);
  expect(left.code).toBe(code);
  expect(left.stderr.includes("not caught")).toBe(mode === "throw");
});

test("a bundle without the script of the logging thread loses nothing, and a line says how", async () => {
  const folder = `${home}/bundled`;
  await compile(folder, "tests/crash/jsonl-child.ts");
  const { code, stderr } = await leave(`${folder}/jsonl-child.js`, `${folder}/run`, "exit");
  expect(code).toBe(3);
  expect(stderr).toMatch(/^hookline: what is logged is written on the training thread: .*logging-worker/);
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

describe.runIf(canMount)("bad disks", () => {
  test("a disk that fills up, and one that cannot be written", async () => {
    const mount = `${home}/small`;
    mkdirSync(mount);
    const node = `"${process.execPath}" "${home}/jsonl-child.js" "${mount}/run" fill`;
    const script = `mount -t tmpfs -o size=2m none "${mount}" && ${node} && mount -o remount,ro "${mount}" && ${node}`;
    const { stdout } = await promisify(execFile)("unshare", ["-rm", "sh", "-ec", script]);
    const [full, readOnly] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    const isFull = expect.stringMatching(
      /HooklineError: .*metrics\.jsonl: the disk is full \(ENOSPC\)\. Free some space/,
    );
    expect(full).toEqual({ messages: [isFull, isFull], isWhole: true });
    const isReadOnly = expect.stringMatching(
      /HooklineError: .*: the file system is read-only \(EROFS\)\. Choose a run/,
    );
    expect(readOnly).toEqual({ messages: [isReadOnly] });
  });
});
