// A tiny trainer whose run fires every event of the loop, except `exception`.
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import type { Trainer } from "hookline";

/** Two epochs of two steps of two micro-batches; clips, evaluates and logs. */
export function fullTrainer(options: TinyOptions = {}): Trainer {
  return tinyTrainer({
    epochs: 2,
    accumulate: 2,
    clipNorm: 1,
    logEvery: 1,
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
    ...options,
  });
}
