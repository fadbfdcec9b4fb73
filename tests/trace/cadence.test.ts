// Cadences in a real run: the loop's marks are where a cadence looks for them.
import type { BuiltinEvent, Cadence } from "hookline";
import { expect, test } from "vitest";
import { fullTrainer } from "../support/full-trainer.ts";

/** The steps at which a function is called, in 4 epochs of 4 steps of 2 micro-batches of 4 samples. */
async function steps(event: BuiltinEvent, cadence: Cadence): Promise<number[]> {
  const trainer = fullTrainer({ samples: 32, epochs: 4, tokens: () => 50 });
  const seen: number[] = [];
  trainer.on(event, cadence, (ctx) => void seen.push(ctx.step));
  await trainer.fit();
  return seen;
}

test.each<[BuiltinEvent, Cadence, number[]]>([
  ["stepEnd", 5, [5, 10, 15]],
  ["stepEnd", "12 batches", [6, 12]],
  ["stepEnd", "5 batches", [3, 5, 8, 10, 13, 15]],
  ["stepEnd", "20 samples", [3, 5, 8, 10, 13, 15]],
  ["stepEnd", "25%", [4, 8, 12, 16]],
  ["stepBegin", "40 samples", [6, 11, 16]],
  ["batchBegin", 8, [4, 8, 12, 16]],
  ["batchBegin", "150 tokens", [2, 3, 5, 6, 8, 9, 11, 12, 14, 15]],
  ["beforeFetch", 8, [4, 8, 12, 16]],
  ["epochEnd", 2, [8, 16]],
  ["epochEnd", "6 steps", [8, 12]],
  ["epochEnd", "40 samples", [8, 12, 16]],
  ["epochBegin", "6 steps", [8, 12]],
  ["evalEnd", "6 steps", [8, 12]],
  ["evalEnd", "40 samples", [8, 12, 16]],
  ["log", "6 steps", [6, 12]],
])("%s, %o", async (event, cadence, expected) => {
  expect(await steps(event, cadence)).toEqual(expected);
});
