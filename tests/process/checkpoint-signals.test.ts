// SIGINT and SIGTERM at random moments of runs that save and evaluate: each ends in time with a checkpoint of its last
// step, and the run that resumes from it ends as if nothing had happened. `npm run soak` sends twice as many.
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../crash/strace.ts";
import type { TrainingNote } from "../crash/training-child.ts";
import { compileTraining, intactCheckpoints, startTraining, train, type Training } from "../crash/training.ts";
import { isSoak } from "../support/repetitions.ts";

/** What may come on top of a step and the save: 250 ms where the machine is free, far more where it is busy. */
const ROOM = 30_000;

const STEPS = 120;
/** Each child trains so many times, one after the other; the last time its own end is looked at too. */
const MOMENTS = ["start", "step", "eval", "save", "any"] as const;
type Moment = (typeof MOMENTS)[number];
const CHILDREN = isSoak ? 10 : 5;

const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

const home = newFolder();
beforeAll(() => compileTraining(home));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Waits for such a moment; where in the child's share of it is left to chance: the first child's are at its beginning. */
async function moment(child: Training, which: Moment, nth: number): Promise<void> {
  const wait = {
    start: ["starting", 60],
    step: ["running", 100],
    eval: ["evaluating", 40],
    save: ["saving", 15],
  } as const;
  const [note, spread] = which === "any" ? (["starting", 300] as const) : wait[which];
  await child.until(note);
  await sleep(((nth + Math.random()) / CHILDREN) * spread);
}

interface Round {
  readonly sent: number;
  readonly during: NonNullable<TrainingNote["during"]>;
  readonly result: TrainingNote;
}

/** One signal, from the moment to the result; the checkpoint must be there. */
async function interrupt(
  child: Training,
  which: Moment,
  nth: number,
  signal: keyof typeof CODES,
  runDir: string,
): Promise<Round> {
  await moment(child, which, nth);
  const sent = child.signal(signal);
  const { during, step } = await child.until("signal");
  const result = await child.until("result");
  // Once the process has heard of it, the step under way is the last one.
  expect(result.step! - step!, which).toBeLessThanOrEqual(1);
  expect(result.end).toMatchObject({ status: "interrupted", exitCode: CODES[signal], warnings: [] });
  const saved = (await intactCheckpoints(runDir)).at(-1);
  expect(saved, which).toMatchObject({ step: result.step, reason: "emergency" });
  if (which === "start") expect(saved!.step).toBe(0);
  return { sent, during: during!, result };
}

interface Latency {
  readonly ms: number;
  readonly during: Round["during"];
  /** What it may take: a step, and the save, after one that is under way. */
  readonly due: number;
}

function latencyOf({ sent, during, result }: Round, ended: number): Latency {
  const { longestStep, lastSave } = result.end!;
  return { ms: ended - sent, during, due: longestStep + (during === "save" ? 2 : 1) * lastSave };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

describe("a signal to a run with checkpoints", () => {
  const latencies: Latency[] = [];
  let whole: TrainingNote;
  beforeAll(async () => {
    whole = await train(home, { runs: [{ runDir: `${home}/whole` }], steps: STEPS });
  });

  it.each(Array.from({ length: CHILDREN }, (_, i) => i))(
    "at five moments, child %i",
    { timeout: 8 * ROOM },
    async (nth) => {
      // Another one comes last for each child: only after that one the process ends.
      const order = MOMENTS.map((_, i) => MOMENTS[(i + nth) % MOMENTS.length]!);
      const runs = order.map((which) => ({ runDir: `${home}/${nth}-${which}`, waits: which === "start" }));
      const child = startTraining(home, { runs, steps: STEPS });
      onTestFinished(() => void child.signal("SIGKILL"));
      const rounds: Round[] = [];
      const signals = order.map((_, i) => ((nth + i) % 2 === 0 ? "SIGINT" : "SIGTERM"));
      for (const [i, which] of order.entries())
        rounds.push(await interrupt(child, which, nth, signals[i]!, runs[i]!.runDir));
      const { code, signal, at } = await child.exit;
      expect({ code, signal }).toEqual({ code: CODES[signals.at(-1)!], signal: null });
      const ended = rounds.map((round, i) => latencyOf(round, i === rounds.length - 1 ? at : round.result.at));
      for (const { ms, due } of ended) expect(ms).toBeLessThan(due + ROOM);
      latencies.push(...ended);

      // One goes on of every kind of moment.
      if (nth < MOMENTS.length) {
        const goesOn = nth % MOMENTS.length;
        const { runDir } = runs[goesOn]!;
        const resumed = await train(home, { runs: [{ runDir, resume: true }], steps: STEPS });
        expect(resumed.end!.resumedAt).toBe(rounds[goesOn]!.result.step);
        const { status, digest, checkpoints } = whole.end!;
        expect(resumed).toMatchObject({ step: STEPS, end: { status, digest, checkpoints } });
      }
      for (const each of runs) rmSync(each.runDir, { recursive: true });
    },
  );

  it("came at all kinds of moments", async () => {
    expect(latencies).toHaveLength(CHILDREN * MOMENTS.length);
    // Chance may leave out a kind: more signals, until it has come.
    const kinds = ["start", "step", "eval", "save"] as const;
    const missing = () => kinds.find((kind) => latencies.every(({ during }) => during !== kind));
    for (let more = 0, which = missing(); which && more < 200; more++, which = missing()) {
      const runDir = `${home}/more-${more}`;
      const child = startTraining(home, { runs: [{ runDir, waits: which === "start" }], steps: STEPS });
      onTestFinished(() => void child.signal("SIGKILL"));
      const round = await interrupt(child, which, more % CHILDREN, "SIGINT", runDir);
      latencies.push(latencyOf(round, (await child.exit).at));
    }
    const all = latencies.map(({ ms }) => ms);
    const rest = latencies.map(({ ms, due }) => Math.round(ms - due));
    const counts = kinds.map((phase) => [phase, latencies.filter(({ during }) => during === phase).length] as const);
    console.info(
      `${all.length} signals (${counts.map(([phase, count]) => `${count} ${phase}`).join(", ")}) to the end: ` +
        `median ${median(all)} ms, longest ${Math.max(...all)} ms; ` +
        `beyond a step and the save: median ${median(rest)} ms, longest ${Math.max(...rest)} ms`,
    );
    for (const [phase, count] of counts) expect(count, phase).toBeGreaterThan(0);
  });
});
