import * as fc from "fast-check";
import { expect, test } from "vitest";
import { constant } from "./curves.ts";
import { plateau } from "./plateau.ts";
import { sequence } from "./composite.ts";

const time = { step: 0, epoch: 0, totalSteps: undefined, totalEpochs: undefined };

function observeAll(schedule: ReturnType<typeof plateau>, values: readonly number[]): number[] {
  return values.map((value) => {
    schedule.observe!(value);
    return schedule.factor(time);
  });
}

test("reduces after more than `patience` evals without improvement", () => {
  const schedule = plateau({ patience: 1, factor: 0.5 });
  expect(observeAll(schedule, [1, 0.9, 0.9, 0.9, 0.9, 0.9])).toEqual([1, 1, 1, 0.5, 0.5, 0.25]);
  expect(schedule).toMatchObject({ monitor: "val/loss", interval: "step" });
});

test("mode, cooldown and the floor", () => {
  expect(observeAll(plateau({ mode: "max", patience: 0, factor: 0.5 }), [1, 2, 1])).toEqual([1, 1, 0.5]);
  expect(observeAll(plateau({ patience: 0, cooldown: 2, factor: 0.5 }), [1, 1, 1, 1, 1])).toEqual([
    1, 0.5, 0.5, 0.5, 0.25,
  ]);
  expect(observeAll(plateau({ patience: 0, factor: 0.1, minFactor: 0.3 }), [1, 1, 1])).toEqual([1, 0.3, 0.3]);
});

test("NaN never counts as an improvement", () => {
  expect(observeAll(plateau({ patience: 0, factor: 0.5 }), [Number.NaN, 1, Number.NaN])).toEqual([0.5, 0.5, 0.25]);
});

test("a saved and loaded plateau goes on as if nothing had happened", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 1, maxLength: 30 }),
      fc.nat(30),
      (values, cut) => {
        const make = () => plateau({ patience: 1, cooldown: 1, factor: 0.5 });
        const whole = observeAll(make(), values);
        const first = make();
        const before = observeAll(first, values.slice(0, cut));
        const second = make();
        second.load!(JSON.parse(JSON.stringify(first.state!())));
        expect([...before, ...observeAll(second, values.slice(cut))]).toEqual(whole);
      },
    ),
  );
});

test("a run that starts over owes nothing to what an earlier one has seen", () => {
  const schedule = sequence([{ until: 1, schedule: constant() }, { schedule: plateau({ patience: 0, factor: 0.5 }) }]);
  expect(observeAll(schedule, [1, 1])).toEqual([1, 1]);
  expect(schedule.factor({ ...time, step: 2 })).toBe(0.5);
  schedule.reset!();
  expect(schedule.factor({ ...time, step: 2 })).toBe(1);
});

test("another schedule's state is refused", () => {
  expect(() => plateau().load!({ epoch: 3 })).toThrow("this saved state is not a plateau's");
  expect(() => plateau().load!(null)).toThrow("this saved state is not a plateau's");
});
