// What modelCheckpoint costs while it saves nothing: it keeps the position of every step, for a run that fails.
import { modelCheckpoint, Trainer, type Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { oneLayer } from "./models.ts";
import type { Report } from "./report.ts";
import { median, p10 } from "./stats.ts";
import { inTurns, Turns } from "./turns.ts";

const STEPS = 10_000;
/** The first steps compile and warm up. */
const WARM_UP = 2000;
const ROUNDS = 5;

/** Microseconds of every step. */
async function train(turns: Turns, hooks: readonly Hook[]): Promise<number[]> {
  const steps: number[] = [];
  const { train: loader, ...options } = oneLayer();
  await using trainer = new Trainer({
    ...options,
    train: inTurns(loader, turns, (ms) => void steps.push(ms * 1000)),
    steps: STEPS + WARM_UP,
    engine: "wasm",
    signals: false,
    store: memoryStore(),
    // A pause inside a step would be counted as its time.
    yieldEvery: 1e9,
    hooks: [...hooks],
  });
  await trainer.fit();
  turns.leave();
  return steps.slice(WARM_UP);
}

export async function idleCheckpoint(): Promise<Report> {
  const added = { p10: [] as number[], median: [] as number[] };
  const plain: number[] = [];
  const ready: number[] = [];
  // New trainers in every round, and the other one first: who comes first meets colder caches.
  for (let round = 0; round < ROUNDS; round++) {
    const turns = new Turns();
    const hooks = [modelCheckpoint({ every: "1000000 steps" })];
    const without = round % 2 === 0 ? train(turns, []) : undefined;
    const hooked = train(turns, hooks);
    const [a, b] = await Promise.all([without ?? train(turns, []), hooked]);
    plain.push(...a);
    ready.push(...b);
    added.p10.push(p10(b) - p10(a));
    added.median.push(median(b) - median(a));
  }
  return {
    name: "checkpoint-idle",
    title: "checkpoint-idle: µs a step of one layer with modelCheckpoint, while nothing is saved",
    columns: ["p10", "median"],
    rows: [
      ["no hook", p10(plain), median(plain)],
      ["modelCheckpoint", p10(ready), median(ready)],
      ["added", median(added.p10), median(added.median)],
    ],
    aims: [{ what: "added to a step, p10", measured: median(added.p10), unit: "µs", limit: 3 }],
  };
}
