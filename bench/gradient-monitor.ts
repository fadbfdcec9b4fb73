// What gradientMonitor costs: in one run it is switched on and off in turns; the steps it looks at are counted apart.
import { type GradientMonitorOptions, Trainer, gradientMonitor } from "hookline";
import type { Loader } from "../src/core/model.ts";
import { mlp } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median } from "./lib/stats.ts";
import { timedEngine, type TimedEngine } from "./lib/timed-engine.ts";

/** Steps of one turn; the first ones after a switch settle, and the last one is cut by the next: they are left out. */
const TURN = 25;
const SETTLE = 3;
/** The first pair of turns compiles and warms up, and is left out. */
const TURNS = 14;
const ROUNDS = 3;
/** It looks this often here, to have looks enough to measure; what it costs at its default is computed from that. */
const EVERY = 5;
const DEFAULT_EVERY = 100;

/** Microseconds of one step, in all and outside of its programs. */
interface Step {
  readonly all: number;
  readonly own: number;
}

/** The loader with a watch: from one batch to the next is a step, numbered from 1. */
function watched(loader: Loader, engine: TimedEngine, seen: (step: number, times: Step) => void): Loader {
  let resumed: number | undefined;
  let step = 0;
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    next() {
      const now = performance.now();
      const inside = engine.takeProgramTime();
      if (resumed !== undefined) seen(step, { all: (now - resumed) * 1000, own: (now - resumed - inside) * 1000 });
      step++;
      resumed = performance.now();
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}

/** Steps without the monitor, with it but without a look, and with a look. */
interface Sorted {
  readonly off: Step[];
  readonly between: Step[];
  readonly looked: Step[];
}

async function train(options: GradientMonitorOptions, into: Sorted): Promise<void> {
  const engine = await timedEngine();
  const monitor = gradientMonitor({ ...options, every: EVERY });
  const { train: loader, ...setup } = mlp();
  const seen = (step: number, times: Step): void => {
    const turn = Math.floor((step - 1) / TURN);
    const isOn = turn % 2 === 0;
    const at = (step - 1) % TURN;
    if (turn >= 2 && at >= SETTLE && at < TURN - 1) {
      const kind = !isOn ? "off" : step % EVERY === 0 ? "looked" : "between";
      into[kind].push(times);
    }
    // The last step of the turn has begun, and has its plan: the switch is for the one after.
    if (at === TURN - 2) trainer.hooks[isOn ? "disable" : "enable"](monitor.name);
  };
  await using trainer = new Trainer({
    ...setup,
    train: watched(loader, engine, seen),
    steps: TURN * TURNS,
    engine,
    signals: false,
    // A pause inside a step would be counted as its time.
    yieldEvery: 1e9,
    hooks: [monitor],
  });
  await trainer.fit();
}

export async function run(): Promise<Report> {
  const contenders: { label: string; options: GradientMonitorOptions; steps: Sorted }[] = [
    { label: "norms", options: {}, steps: { off: [], between: [], looked: [] } },
    {
      label: "norms, percentiles, histograms",
      options: { percentiles: [5, 50, 95], histogram: 30 },
      steps: { off: [], between: [], looked: [] },
    },
  ];
  for (let round = 0; round < ROUNDS; round++) for (const { options, steps } of contenders) await train(options, steps);
  const all = (steps: readonly Step[]): number => median(steps.map((step) => step.all));
  const own = (steps: readonly Step[]): number => median(steps.map((step) => step.own));
  const rows = contenders.map(({ label, steps: { off, between, looked } }) => {
    const look = all(looked) - all(off);
    // Without a look the program is the same, so only what surrounds it can differ.
    const rest = own(between) - own(off);
    return { label, step: all(off), look, rest, share: (look / DEFAULT_EVERY + rest) / all(off) };
  });
  return {
    name: "gradient-monitor",
    title: "gradient-monitor: µs on the MLP 784-256-10, batch 128; what a look adds, and what steps without one",
    columns: ["step", "a look", "without", `share at ${DEFAULT_EVERY}`],
    rows: rows.map(({ label, step, look, rest, share }) => [label, step, look, rest, share]),
    aims: [
      { what: `norms every ${DEFAULT_EVERY} steps`, measured: 100 * rows[0]!.share, unit: "%", limit: 1, must: true },
    ],
  };
}
