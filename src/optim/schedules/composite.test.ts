// warmup and sequence: schedules made of schedules.
import { expect, test } from "vitest";
import type { ScheduleTime } from "../../core/optimizer.ts";
import { constant, cosine, exponential, linear, plateau, sequence, step, warmup } from "../index.ts";

const at = (step: number, totalSteps?: number): ScheduleTime => ({
  step,
  epoch: Math.floor(step / 10),
  totalSteps,
  totalEpochs: totalSteps === undefined ? undefined : totalSteps / 10,
});

test("warmup alone rises to 1 and stays", () => {
  const plain = warmup({ steps: 4 });
  expect([0, 1, 2, 3, 4, 100].map((t) => plain.factor(at(t)))).toEqual(
    [0.2, 0.4, 0.6, 0.8, 1, 1].map((x) => expect.closeTo(x, 12)),
  );
  expect(warmup({ steps: 4, from: 0 }).factor(at(1))).toBe(0.25);
  expect(plain.interval).toBe("step");
});

test("what follows a warmup counts from its end, and its total is what is left", () => {
  const schedule = warmup({ steps: "20%", schedule: linear() });
  expect(schedule.factor(at(20, 100))).toBe(1);
  expect(schedule.factor(at(60, 100))).toBe(0.5);
  const same = cosine({ warmup: 20 });
  const composed = warmup({ steps: 20, schedule: cosine() });
  for (let t = 0; t < 100; t++) expect(composed.factor(at(t, 100))).toBeCloseTo(same.factor(at(t, 100)), 12);
});

test("epochs go on counting through a warmup in steps", () => {
  const schedule = warmup({ steps: 5, schedule: step({ every: 1, gamma: 0.5 }) });
  expect(schedule.factor(at(9))).toBe(1);
  expect(schedule.factor(at(10))).toBe(0.5);
});

test("sequence hands over at `until`", () => {
  const schedule = sequence([
    { until: "10%", schedule: linear({ start: 0.5, end: 1 }) },
    { until: 50, schedule: constant() },
    { schedule: exponential({ gamma: 0.5, interval: "step" }) },
  ]);
  expect([0, 5, 10, 49, 50, 52].map((t) => schedule.factor(at(t, 100)))).toEqual([0.5, 0.75, 1, 1, 1, 0.25]);
  expect(schedule.interval).toBe("step");
  const epochs = sequence([{ until: 2, schedule: constant({ factor: 0.1 }) }, { schedule: step({ every: 1 }) }], {
    interval: "epoch",
  });
  expect(epochs.interval).toBe("epoch");
  expect([0, 19, 20, 30].map((t) => epochs.factor(at(t)))).toEqual([0.1, 0.1, 1, expect.closeTo(0.1, 12)]);
});

test("a plateau inside keeps its monitor and its state", () => {
  const make = () =>
    warmup({ steps: 2, schedule: plateau({ monitor: "val/accuracy", mode: "max", patience: 0, factor: 0.5 }) });
  const one = make();
  expect(one.monitor).toBe("val/accuracy");
  one.observe!(0.5);
  one.observe!(0.4);
  expect(one.factor(at(10))).toBe(0.5);
  const other = make();
  other.load!(JSON.parse(JSON.stringify(one.state!())));
  expect(other.factor(at(10))).toBe(0.5);
  expect(() => other.load!({})).toThrow("not of a schedule with 1 parts");
});

test("what cannot work is an error at construction", () => {
  expect(() => warmup({ steps: 1, interval: "epoch", schedule: cosine() })).toThrow(
    'warmup: counts epochs, but `cosine` in it counts steps. Give `interval: "epoch"` to `cosine`',
  );
  expect(() => sequence([])).toThrow("at least one part");
  expect(() => sequence([{ schedule: constant() }, { schedule: constant() }])).toThrow(
    "sequence: part 0: missing option `until`",
  );
  expect(() => sequence([{ until: 5, schedule: constant() }])).toThrow("leave out its `until`");
  expect(() => sequence([{ until: 5, schedule: plateau() }, { schedule: plateau({ monitor: "val/f1" }) }])).toThrow(
    "its parts monitor val/loss and val/f1",
  );
  expect(() => warmup({ steps: 5, schedule: {} as never })).toThrow(
    "Expected `schedule` to be a schedule such as `cosine()`",
  );
  const unordered = sequence([
    { until: 9, schedule: constant() },
    { until: 5, schedule: constant() },
    { schedule: constant() },
  ]);
  expect(() => unordered.factor(at(9))).toThrow("Order the parts by `until`");
});
