// What nanGuard costs: two trainers with clipping, one of them guarded, take turns step by step.
import { Trainer, type Hook } from "hookline";
import type { Loader } from "../src/core/loader.ts";
import { nanGuard } from "hookline";
import { mlp } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";

const STEPS = 150;
/** The first steps compile and warm up. */
const WARM_UP = 20;
const ROUNDS = 5;

/** Who may take a step; the other waits for its batch. */
class Turns {
  #waiting: (() => void) | undefined;

  /** Hands over to the other one and waits for the turn to come back. */
  pass(): Promise<void> {
    const other = this.#waiting;
    return new Promise((resolve) => {
      this.#waiting = resolve;
      other?.();
    });
  }

  /** For the one that is done: the other goes on alone. */
  leave(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}

/** The loader, asking for its turn with every batch; what lies between the turns is a step. */
function inTurns(loader: Loader, turns: Turns, steps: number[]): Loader {
  let resumed: number | undefined;
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    async next() {
      if (resumed !== undefined) steps.push((performance.now() - resumed) * 1000);
      await turns.pass();
      resumed = performance.now();
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}

async function train(turns: Turns, hooks: readonly Hook[]): Promise<number[]> {
  const times: number[] = [];
  const { train: loader, ...options } = mlp();
  await using trainer = new Trainer({
    ...options,
    train: inTurns(loader, turns, times),
    clipNorm: 1,
    steps: STEPS + WARM_UP,
    engine: "wasm",
    signals: false,
    // A pause inside a step would be counted as its time.
    yieldEvery: 1e9,
    hooks: [...hooks],
  });
  await trainer.fit();
  turns.leave();
  return times.slice(WARM_UP);
}

export async function run(): Promise<Report> {
  const plain: number[] = [];
  const guarded: number[] = [];
  // New trainers in every round: where their buffers happen to lie moves a program's time.
  for (let round = 0; round < ROUNDS; round++) {
    const turns = new Turns();
    const [a, b] = await Promise.all([train(turns, []), train(turns, [nanGuard()])]);
    plain.push(...a);
    guarded.push(...b);
  }
  const row = (label: string, steps: readonly number[]): [string, number, number] => [label, p10(steps), median(steps)];
  const ratios: [string, number, number] = ["ratio", p10(guarded) / p10(plain), median(guarded) / median(plain)];
  return {
    name: "nan-guard",
    title: "nan-guard: µs a step of the MLP 784-256-10, batch 128, with clipNorm",
    columns: ["p10", "median"],
    rows: [row("clipNorm", plain), row("clipNorm and nanGuard", guarded), ratios],
    aims: [{ what: "guarded step beside a clipped one", measured: ratios[1], unit: "×", limit: 1.02 }],
  };
}
