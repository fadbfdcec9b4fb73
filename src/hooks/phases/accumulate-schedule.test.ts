import type { Hook } from "hookline";
import { tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { accumulateSchedule, type AccumulatePhase } from "./accumulate-schedule.ts";

/** Micro-batches of every step; eight batches an epoch. */
async function sizes(schedule: readonly AccumulatePhase[], epochs: readonly number[], accumulate = 1) {
  const counts: number[] = [];
  const counter: Hook = {
    name: "counter",
    onStepBegin: () => void counts.push(0),
    onBatchBegin: () => void counts[counts.length - 1]!++,
  };
  await using trainer = tinyTrainer({ samples: 32, accumulate, hooks: [accumulateSchedule({ schedule }), counter] });
  for (const until of epochs) await trainer.fit({ epochs: until });
  return counts;
}

test("by epochs", async () => {
  const schedule = [
    { from: "1 epoch", accumulate: 4 },
    { from: "2 epochs", accumulate: 8 },
  ];
  expect(await sizes(schedule, [3], 2)).toEqual([2, 2, 2, 2, 4, 4, 8]);
  expect(await sizes(schedule, [1, 2, 3], 2)).toEqual([2, 2, 2, 2, 4, 4, 8]);
});

test("by steps, in the very step", async () => {
  expect(await sizes([{ from: 3, accumulate: 3 }], [1])).toEqual([1, 1, 3, 3]);
});

test("mistakes are errors at construction", () => {
  expect(() => accumulateSchedule({ schedule: [{ from: 1, accumulate: 0 }] })).toThrow(/a whole number ≥ 1/);
  expect(() => accumulateSchedule({ schedul: [] } as never)).toThrow(/Did you mean `schedule`/);
});
