// What the trainer adds to a step: beside a hand-written loop around the same program, step by step in one process.
import { Trainer } from "hookline";
import type { Hook, Loader } from "hookline";
import { handLoop } from "./lib/hand-loop.ts";
import { mlp, oneLayer, type Setup } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";

interface Timings {
  readonly hand: number[];
  readonly trainer: number[];
}

/** Ten hooks that do nothing at ten places of a step, the plan unchanged. */
const noOps = (): Hook[] =>
  Array.from({ length: 10 }, (_, i) => ({
    name: `no-op ${i}`,
    ...(i % 2 === 0 ? { onStepEnd() {} } : { onBatchEnd() {} }),
    ...(i % 3 === 0 && { onStepBegin() {} }),
  }));

/**
 * A loader that hands control over: each time the trainer asks for a batch, its last step is over, the hand-written loop
 * does one, and the trainer's next begins. So both meet the same machine, and no hook is needed to measure.
 */
function gated(loader: Loader, handStep: () => void, { hand, trainer }: Timings): Loader {
  let resumed = 0;
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    next() {
      const asked = performance.now();
      if (resumed > 0) trainer.push((asked - resumed) * 1000);
      handStep();
      const back = performance.now();
      hand.push((back - asked) * 1000);
      resumed = performance.now();
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}

/** Microseconds of each step, the first ones (compilation, warm-up) left out. */
async function measure(setup: () => Setup, hooks: Hook[], steps: number, warmUp: number): Promise<Timings> {
  const timings: Timings = { hand: [], trainer: [] };
  const { train, ...options } = setup();
  const handStep = await handLoop(setup());
  const trainer = new Trainer({
    ...options,
    train: gated(train, handStep, timings),
    steps: steps + warmUp,
    engine: "wasm",
    signals: false,
    hooks,
  });
  await trainer.fit();
  await trainer.close();
  return { hand: timings.hand.slice(warmUp), trainer: timings.trainer.slice(warmUp) };
}

interface Row {
  readonly label: string;
  readonly hand: number[];
  readonly trainer: number[];
}

async function rounds(label: string, setup: () => Setup, steps: number, warmUp: number, times: number): Promise<Row[]> {
  const rows = [0, 10].map((hooks) => ({ label: `${label}, ${hooks} hooks`, hooks, hand: [], trainer: [] }) as Row & { hooks: number });
  for (let round = 0; round < times; round++) {
    for (const row of rows) {
      const { hand, trainer } = await measure(setup, row.hooks === 0 ? [] : noOps(), steps, warmUp);
      row.hand.push(...hand);
      row.trainer.push(...trainer);
    }
  }
  return rows;
}

export async function run(): Promise<Report> {
  const large = await rounds("MLP 784-256-10, batch 128", mlp, 150, 15, 2);
  const small = await rounds("one layer", oneLayer, 4000, 2000, 3);
  return {
    name: "overhead",
    title: "overhead: µs a step, the trainer against a hand-written loop around the same program",
    columns: ["hand p10", "trainer p10", "hand median", "trainer median", "added p10", "added median", "ratio p10", "ratio median"],
    rows: [...large, ...small].map(({ label, hand, trainer }) => [
      label,
      p10(hand),
      p10(trainer),
      median(hand),
      median(trainer),
      p10(trainer) - p10(hand),
      median(trainer) - median(hand),
      p10(trainer) / p10(hand),
      median(trainer) / median(hand),
    ]),
    aims: [
      ...large.map(({ label, hand, trainer }) => ({
        what: `${label}, p10`,
        measured: p10(trainer) / p10(hand),
        unit: "×",
        limit: 1.02,
      })),
      ...small.map(({ label, hand, trainer }) => ({
        what: `${label}, added at p10`,
        measured: p10(trainer) - p10(hand),
        unit: "µs",
        limit: 3,
      })),
    ],
  };
}
