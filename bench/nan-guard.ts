// What nanGuard costs: two trainers with clipping, one of them guarded, take turns step by step.
import { nanGuard, Trainer, type Hook } from "hookline";
import { mlp } from "./lib/models.ts";
import type { Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";
import { inTurns, Turns } from "./lib/turns.ts";

const STEPS = 150;
/** The first steps compile and warm up. */
const WARM_UP = 20;
const ROUNDS = 5;

async function train(turns: Turns, hooks: readonly Hook[]): Promise<number[]> {
  const times: number[] = [];
  const { train: loader, ...options } = mlp();
  await using trainer = new Trainer({
    ...options,
    train: inTurns(loader, turns, (ms) => void times.push(ms * 1000)),
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
    aims: [{ what: "guarded step beside a clipped one", measured: ratios[1], unit: "×", limit: 1.02, must: true }],
  };
}
