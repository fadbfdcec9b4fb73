// What services add to a step while they are down half of the time: runs that log to one, or to nothing, in turn.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { mlflow, wandb, type LoggerBackend, type LogRecord } from "hookline/loggers";
import { threadClock } from "./logging-clock.ts";
import { loggerOf, timedRun } from "./logging-runs.ts";
import type { Report } from "./report.ts";
import { median, p10, quantile } from "./stats.ts";

const STEPS = 10_000;
/** The first steps compile and warm up. */
const WARM_UP = 2000;
const ROUNDS = 7;

/** In a process of its own: what it does is not the training's. */
export async function serve(mode: "up" | "half"): Promise<{ readonly url: string; close(): Promise<void> }> {
  const script = fileURLToPath(new URL("./logging-server.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, mode], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return {
    url: `http://127.0.0.1:${String(port).trim()}`,
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

/** Sent ten times a second, which is fifty times as often as by default, and tried again as soon. */
const quick = { sendEvery: 100, backoff: 100, warn: () => undefined };

const NOTHING = "nothing";
/** Kept, so that no compiler finds that a record is not needed. */
let kept: LogRecord | undefined;
const nothing = (): LoggerBackend => ({
  name: NOTHING,
  open: () => undefined,
  log: (record) => void (kept = record),
  close: () => void (kept &&= undefined),
});
const SERVICES: Readonly<Record<string, (url: string) => LoggerBackend>> = {
  [NOTHING]: nothing,
  wandb: (url) => wandb({ baseUrl: url, apiKey: "k".repeat(40), ...quick }),
  mlflow: (url) => mlflow({ uri: url, ...quick }),
};

/** Records between two pauses of a millisecond: as many as a training with steps of 77 µs has in that time. */
const BETWEEN = 13;

/**
 * Microseconds of the training thread for each record, with all that comes later: of a loop that does nothing but log,
 * at the pace of a training. In the training itself they would drown in what the steps differ by.
 */
async function paced(backend: LoggerBackend): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const clock = threadClock();
  const facts = { dir, name: "bench", id: "bench", resumedAt: undefined, hparams: {}, about: {}, totalSteps: STEPS };
  try {
    await backend.open({ ...facts, startedAt: Date.now() });
    let start = 0;
    for (let step = 1; step <= WARM_UP + STEPS; step++) {
      if (step === WARM_UP) start = clock();
      const scalars = { "note/step": step / 7, loss: 1 / step, lr: 0.01, "perf/a": 1e7 / step, "perf/b": 4e7 / step };
      backend.log({ step, epoch: 0, time: Date.now(), elapsed: step / 1e4, scalars, media: {} });
      if (step % BETWEEN === 0) await setTimeout(1);
      if (step % 2500 === 0) void backend.flush?.();
    }
    const took = clock() - start;
    await backend.close({ status: "completed", reason: "", step: STEPS, time: 0, elapsed: 1, metrics: {} });
    return (took * 1000) / STEPS;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Statistic = (values: readonly number[]) => number;
const p99: Statistic = (values) => quantile(values, 0.99);

interface Samples {
  readonly steps: number[];
  readonly records: number[];
}

export async function services(): Promise<Report> {
  const server = await serve("half");
  const samples = new Map(Object.keys(SERVICES).map((name): [string, Samples] => [name, { steps: [], records: [] }]));
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, make] of Object.entries(SERVICES)) {
        const { steps, records } = samples.get(name)!;
        const { whole } = await timedRun(() => ({ hooks: [loggerOf(make(server.url))] }), STEPS, WARM_UP);
        steps.push(...whole);
        records.push(await paced(make(server.url)));
      }
    }
  } finally {
    await server.close();
  }
  const nothing = samples.get(NOTHING)!;
  const step = median(nothing.steps);
  const percent = (name: string, of: Statistic): number => 100 * (of(samples.get(name)!.steps) / of(nothing.steps) - 1);
  const record = (name: string): number => median(samples.get(name)!.records) - median(nothing.records);
  return {
    name: "logging-services",
    title: `logging to a service that is down half of the time: what it adds to steps of ${step.toFixed(0)} µs, in %;
µs of the training thread for a record, with all that comes later, and how much that is of a step`,
    columns: ["p10 %", "median %", "p99 %", "record µs", "mean %"],
    rows: Object.keys(SERVICES).map((name) => [
      name,
      ...[p10, median, p99].map((of) => percent(name, of)),
      record(name),
      (100 * record(name)) / step,
    ]),
    aims: Object.keys(SERVICES)
      .slice(1)
      .flatMap((name) => [
        { what: `${name}, median`, measured: percent(name, median), unit: "%", limit: 1, must: true },
        { what: `${name}, mean`, measured: (100 * record(name)) / step, unit: "%", limit: 1, must: true },
      ]),
  };
}
