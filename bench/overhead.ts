// What the trainer adds to a step: beside a hand-written loop around the same program, step by step in one process.
import { Trainer, type Hook } from "hookline";
import type { Loader } from "../src/core/model.ts";
import { handLoop } from "./lib/hand-loop.ts";
import { mlp, oneLayer, type Setup } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";
import { timedEngine, type TimedEngine } from "./lib/timed-engine.ts";

/**
 * Microseconds of every step, in all and outside of the program. Both run the same program, but where its buffers
 * happen to lie moves its time by a few percent from one instance to the next: only what surrounds it is compared.
 */
interface Steps {
  readonly all: number[];
  readonly own: number[];
}
const noSteps = (): Steps => ({ all: [], own: [] });

interface Row {
  readonly label: string;
  readonly hooks: number;
  readonly hand: Steps;
  readonly trainer: Steps;
}

/** Hooks that do nothing, at places that leave the step in one program. */
const noOps = (count: number): Hook[] =>
  Array.from({ length: count }, (_, i) => ({
    name: `no-op ${i}`,
    ...(i % 2 === 0 ? { onStepEnd() {} } : { onBatchEnd() {} }),
    ...(i % 3 === 0 && { onStepBegin() {} }),
  }));

function note({ all, own }: Steps, ms: number, engine: TimedEngine): void {
  all.push(ms * 1000);
  own.push((ms - engine.takeProgramTime()) * 1000);
}

/**
 * A loader that hands control over: when the trainer asks for a batch its last step is over; the hand-written loop does
 * one, and then the trainer's next begins. So both meet the same machine, and no hook is needed to measure.
 */
function gated(loader: Loader, handStep: () => void, engine: TimedEngine, { hand, trainer }: Row): Loader {
  let resumed: number | undefined;
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    next() {
      const asked = performance.now();
      if (resumed !== undefined) note(trainer, asked - resumed, engine);
      const start = performance.now();
      handStep();
      note(hand, performance.now() - start, engine);
      resumed = performance.now();
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}

/** One trainer and one hand-written loop; the first steps compile and warm up, and are left out. */
async function race(setup: () => Setup, row: Row, steps: number, warmUp: number): Promise<void> {
  const round: Row = { ...row, hand: noSteps(), trainer: noSteps() };
  const engine = await timedEngine();
  const handStep = handLoop(setup(), engine);
  const { train, ...options } = setup();
  const trainer = new Trainer({
    ...options,
    train: gated(train, handStep, engine, round),
    steps: steps + warmUp,
    engine,
    signals: false,
    hooks: noOps(row.hooks),
  });
  await trainer.fit();
  await trainer.close();
  for (const who of ["hand", "trainer"] as const) {
    for (const what of ["all", "own"] as const) row[who][what].push(...round[who][what].slice(warmUp));
  }
}

async function rounds(label: string, setup: () => Setup, times: number, steps: number, warmUp: number): Promise<Row[]> {
  const rows = [0, 10].map((hooks): Row => {
    return { label: `${label}, ${hooks} hooks`, hooks, hand: noSteps(), trainer: noSteps() };
  });
  for (let round = 0; round < times; round++) for (const row of rows) await race(setup, row, steps, warmUp);
  return rows;
}

type Statistic = (values: readonly number[]) => number;
const added = ({ hand, trainer }: Row, of: Statistic): number => of(trainer.own) - of(hand.own);
const ratio = (row: Row, of: Statistic): number => 1 + added(row, of) / of(row.hand.all);

export async function run(): Promise<Report> {
  // The small one first: by the time of the large one, the compiler has seen as many steps as in a real run.
  const small = await rounds("one layer", oneLayer, 4, 4000, 2000);
  const large = await rounds("MLP 784-256-10, batch 128", mlp, 3, 200, 20);
  const unit = { small: "µs", large: "×" };
  return {
    name: "overhead",
    title: "overhead: µs a step beside a hand-written loop around the same program; own: outside of the program",
    columns: [
      "hand step",
      "trainer step",
      "hand own",
      "trainer own",
      "added p10",
      "added median",
      "ratio p10",
      "ratio median",
    ],
    rows: [...small, ...large].map((row) => [
      row.label,
      p10(row.hand.all),
      p10(row.trainer.all),
      p10(row.hand.own),
      p10(row.trainer.own),
      added(row, p10),
      added(row, median),
      ratio(row, p10),
      ratio(row, median),
    ]),
    aims: [
      ...small.map((row) => ({ what: `${row.label}, added`, measured: added(row, p10), unit: unit.small, limit: 3 })),
      ...large.map((row) => ({ what: row.label, measured: ratio(row, p10), unit: unit.large, limit: 1.02 })),
    ],
  };
}
