// One training step of a random model on wasm and on the native engine, and where they differ.
import { Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import type { Optimizer } from "../../src/core/optimizer.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { randomModel, type RandomModel } from "./random-model.ts";

interface Stepped {
  readonly loss: number;
  /** What the step changed, by parameter and buffer. */
  readonly changes: Readonly<Record<string, Float64Array>>;
}

async function step(made: RandomModel, engine: "wasm" | NativeEngine, optimizer: Optimizer): Promise<Stepped> {
  let loss = Number.NaN;
  await using trainer = new Trainer({
    model: made.model,
    loss: made.loss,
    optimizer,
    train: new DataLoader(made.data, { batchSize: made.batchSize }),
    accumulate: made.accumulate,
    ...(made.clipNorm !== undefined && { clipNorm: made.clipNorm }),
    steps: 1,
    seed: 1,
    engine,
    signals: false,
    hooks: [{ name: "loss", onStepEnd: (ctx) => void ({ loss } = ctx) }],
  });
  const before = await trainer.stateDict();
  await trainer.fit();
  const after = await trainer.stateDict();
  const changes = Object.entries(after).map(([name, { data }]) => {
    const from = before[name]!.data;
    return [name, Float64Array.from(data, (value, i) => value - from[i]!)] as const;
  });
  return { loss, changes: Object.fromEntries(changes) };
}

const largestOf = (numbers: Float64Array): number => numbers.reduce((most, n) => Math.max(most, Math.abs(n)), 0);

/** Of each number, of the largest of its array, and of the largest of all: sums whose terms cancel lose that much. */
const RELATIVE = 2e-4;
const OF_ALL = 5e-5;

/** What differs; nothing, if all is well. `warnings` takes what the native engine has to say. */
async function differencesOf(made: RandomModel, native: NativeEngine): Promise<string[]> {
  const expected = await step(made, "wasm", made.optimizer());
  const got = await step(made, native, made.optimizer());
  const found: string[] = [];
  if (!isClose(got.loss, expected.loss, 1e-4 * (1 + Math.abs(expected.loss)))) {
    found.push(`loss: native ${got.loss}, wasm ${expected.loss}`);
  }
  // An optimizer that divides by the size of the gradient turns rounding into whole steps where the gradient is nearly 0.
  const gradients = made.isPlain ? expected.changes : (await step(made, "wasm", sgd({ lr: 1 }))).changes;
  const largest = Math.max(0, ...Object.values(gradients).map(largestOf));
  for (const [name, changes] of Object.entries(expected.changes)) {
    const mine = got.changes[name]!;
    const most = largestOf(changes);
    const at = changes.findIndex((change, i) => {
      const isSmall = Math.abs(gradients[name]?.[i] ?? 0) < 1e-2 * largest;
      const slack = made.isPlain ? OF_ALL * largest : isSmall ? 2.1 * made.wholeStep : 0.02 * made.lr;
      return !isClose(mine[i]!, change, RELATIVE * (Math.abs(change) + most) + slack + 1e-6);
    });
    if (at >= 0) found.push(`${name} at ${at}: native changes by ${mine[at]}, wasm by ${changes[at]} (most ${most})`);
  }
  return found;
}

const isClose = (a: number, b: number, slack: number): boolean =>
  Object.is(a, b) || a === b || Math.abs(a - b) <= slack;

/** Compares so many models, from the seed on; every failure says how to repeat it. */
export async function compareModels(first: number, count: number): Promise<string[]> {
  const warnings: string[] = [];
  const failures: string[] = [];
  let engines = new Map<number, NativeEngine>();
  for (let seed = first; seed < first + count; seed++) {
    const made = randomModel(seed);
    const { threads } = made;
    const warn = (message: string): void => void warnings.push(message);
    const native = engines.get(threads) ?? new NativeEngine({ threads, warn });
    engines.set(threads, native);
    const found = await differencesOf(made, native).catch((error: unknown) => [String(error)]);
    // A program that is not compiled for all threads is a fault too, though it computes the right numbers.
    found.push(...warnings.splice(0));
    if (found.length > 0) failures.push([`seed ${seed}: ${made.outline}`, ...found].join("\n  "));
    if ((seed - first) % 40 === 39) {
      await Promise.all([...engines.values()].map((engine) => engine.close()));
      engines = new Map();
    }
  }
  await Promise.all([...engines.values()].map((engine) => engine.close()));
  return failures;
}
