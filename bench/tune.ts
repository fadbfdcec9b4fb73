// What a study finds and what it costs: tpe beside random, asha beside whole trials, and the time spent on a trial that does
// nothing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Hook } from "hookline";
import { asha, local, random, Study, tpe, uniform } from "hookline/tune";
import { redisIsHere, WHERE_FROM } from "../tests/support/redis-server.ts";
import { GRACE, MAX_STEPS, sweep, SWEEP } from "./lib/mnist-sweep.ts";
import type { Report } from "./lib/report.ts";
import { median, p10, quantile } from "./lib/stats.ts";
import { tuneQueue } from "./tune-queue.ts";

const SEEDS = 9;
const TRIALS = 30;
const ASHA_SEEDS = 5;
const ASHA_TRIALS = 60;
const LOCAL_TRIALS = 60;

const errorOf = ({ best }: { readonly best: number }): number => 100 * (1 - best);
const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, seed) => seed);

async function samplers(): Promise<Report> {
  const errors: { readonly random: number; readonly tpe: number }[] = [];
  for (const seed of seeds(SEEDS)) {
    errors.push({
      random: errorOf(await sweep(TRIALS, random(SWEEP, { seed }))),
      tpe: errorOf(await sweep(TRIALS, tpe(SWEEP, { seed }))),
    });
  }
  const row = (label: string, values: readonly number[]): [string, ...number[]] => [
    label,
    quantile(values, 0.25),
    median(values),
    quantile(values, 0.75),
  ];
  const [randoms, tpes] = [errors.map((each) => each.random), errors.map((each) => each.tpe)];
  return {
    name: "tune",
    title: `MNIST sweep: least validation error of ${TRIALS} trials, %, over ${SEEDS} seeds`,
    columns: ["p25", "median", "p75"],
    rows: [row("random", randoms), row("tpe", tpes)],
    aims: [
      {
        what: "median error with tpe less that with random",
        measured: median(tpes) - median(randoms),
        unit: "points",
        limit: 0,
      },
      {
        what: "seeds in which tpe is as good or better",
        measured: errors.filter((each) => each.tpe <= each.random).length,
        unit: `of ${SEEDS}`,
        limit: Math.ceil(SEEDS / 2),
        atLeast: true,
      },
    ],
  };
}

async function schedulers(): Promise<Report> {
  const rows: [string, ...number[]][] = [];
  for (const seed of seeds(ASHA_SEEDS)) {
    const whole = await sweep(ASHA_TRIALS, random(SWEEP, { seed }));
    const early = await sweep(ASHA_TRIALS, random(SWEEP, { seed }), asha({ grace: GRACE, maxSteps: MAX_STEPS }));
    const [lost, share] = [100 * (1 - early.best / whole.best), (100 * early.steps) / whole.steps];
    rows.push([`seed ${seed}`, 100 * whole.best, 100 * early.best, lost, whole.steps, early.steps, share]);
  }
  const column = (i: number): readonly number[] => rows.map((row) => row[i] as number);
  return {
    name: "tune-asha",
    title: `MNIST sweep: ${ASHA_TRIALS} whole trials beside the same ones with asha`,
    columns: ["accuracy %", "with asha %", "lost %", "steps", "with asha", "share %"],
    rows,
    aims: [
      { what: "lost to the best of whole trials, worst seed", measured: Math.max(...column(3)), unit: "%", limit: 1 },
      { what: "share of the steps, worst seed", measured: Math.max(...column(6)), unit: "%", limit: 25 },
    ],
  };
}

/** From one trial's end to the next one's, with a journal on the disk. The first ones start processes, and do not count. */
async function overhead(): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const ends: number[] = [];
  const clock: Hook = { name: "clock", onTrialComplete: () => void ends.push(performance.now()) };
  try {
    await new Study({
      space: { x: uniform(-1, 1) },
      objective: "loss",
      sampler: random({ x: uniform(-1, 1) }),
      trials: LOCAL_TRIALS,
      trial: "./tests/tune/trial-module.ts#trivial",
      runner: local({ processes: 1, recycle: LOCAL_TRIALS, directory: fileURLToPath(new URL("../", import.meta.url)) }),
      dir,
      hooks: [clock],
      signals: false,
    }).run();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  const times = ends.slice(1).map((end, i) => end - ends[i]!);
  return {
    name: "tune-overhead",
    title: "A trial that does nothing, in a warm process, ms",
    columns: ["p10", "median", "p90"],
    rows: [["local", p10(times), median(times), quantile(times, 0.9)]],
    aims: [{ what: "a trial, median", measured: median(times), unit: "ms", limit: 30 }],
  };
}

export async function run(): Promise<readonly Report[]> {
  const reports = [await samplers(), await schedulers(), await overhead()];
  if (redisIsHere) return [...reports, await tuneQueue()];
  console.warn(`Trials through BullMQ are not measured: ${WHERE_FROM}`);
  return reports;
}
