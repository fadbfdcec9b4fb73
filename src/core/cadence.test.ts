import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bareUnit, boundaryRule, CadenceRule, parseQuantity, type Cadence, type Moment } from "./cadence.ts";
import { Clock, type ClockState } from "./loop/counters.ts";
import { OptionError } from "./errors.ts";
import type { BuiltinEvent } from "./events.ts";

/** One step of a made-up run: how much each of its micro-batches brings, and how long it took. */
interface MadeStep {
  readonly batches: readonly { readonly samples: number; readonly tokens: number }[];
  readonly ms: number;
}
interface Plan {
  readonly stepsPerEpoch: number;
  readonly totalSteps?: number;
  readonly evalEvery?: number;
}

const EVENTS_HERE = [
  "epochBegin",
  "stepBegin",
  "beforeFetch",
  "batchBegin",
  "beforeOptimizerStep",
  "stepEnd",
  "evalEnd",
  "epochEnd",
] as const satisfies readonly BuiltinEvent[];

/** Counts and marks as the loop does, and calls `at` where it fires. Goes on where the clock stands. */
function runLoop(clock: Clock, steps: readonly MadeStep[], plan: Plan, at: (event: BuiltinEvent) => void): void {
  for (const { batches, ms } of steps) {
    const { now } = clock;
    if (now.step % plan.stepsPerEpoch === 0) {
      now.epoch++;
      at("epochBegin");
    }
    now.step++;
    // As where the length of an epoch is not known; tests/trace/fractional-epochs.test.ts has the others.
    now.progress = now.epochsDone;
    at("stepBegin");
    for (const { samples, tokens } of batches) {
      at("beforeFetch");
      clock.mark("batch");
      now.batches++;
      now.samples += samples;
      now.tokens += tokens;
      at("batchBegin");
    }
    at("beforeOptimizerStep");
    now.elapsed += ms;
    at("stepEnd");
    if (plan.evalEvery && now.step % plan.evalEvery === 0) {
      at("evalEnd");
      clock.mark("eval");
    }
    clock.mark();
    if (now.step % plan.stepsPerEpoch === 0) {
      now.progress = ++now.epochsDone;
      at("epochEnd");
      clock.mark("epoch");
    }
  }
}

const evenSteps = (n: number, micro = 1, ms = 10): MadeStep[] =>
  Array.from({ length: n }, () => ({ batches: Array.from({ length: micro }, () => ({ samples: 4, tokens: 50 })), ms }));

/** The steps at which a cadence is due on an event of a made-up run. */
function dueAt(cadence: Cadence, event: BuiltinEvent, steps: readonly MadeStep[], plan: Plan, seed = 0): number[] {
  const clock = new Clock();
  const rule = new CadenceRule("on", cadence, event);
  const due: number[] = [];
  const moment: Moment = { clock, seed, totalSteps: plan.totalSteps, epochBatches: undefined, accumulate: 1 };
  runLoop(clock, steps, plan, (fired) => void (fired === event && rule.due(moment) && due.push(clock.now.step)));
  return due;
}

describe("grammar", () => {
  test.each<[string | number, number, string]>([
    [3, 3, "step"],
    ["3", 3, "step"],
    [0.5, 0.5, "step"],
    ["500 steps", 500, "step"],
    ["1 step", 1, "step"],
    ["2 epochs", 2, "epoch"],
    ["2epochs", 2, "epoch"],
    ["10 batches", 10, "batches"],
    ["1 batch", 1, "batches"],
    ["4096 samples", 4096, "samples"],
    ["1e6 tokens", 1e6, "tokens"],
    ["1.5e3 Tokens", 1500, "tokens"],
    ["250 ms", 250, "elapsed"],
    ["30 s", 30_000, "elapsed"],
    ["30 sec", 30_000, "elapsed"],
    ["30 seconds", 30_000, "elapsed"],
    ["5 min", 300_000, "elapsed"],
    ["5 minutes", 300_000, "elapsed"],
    ["2 h", 7_200_000, "elapsed"],
    ["2 hours", 7_200_000, "elapsed"],
    ["10%", 10, "percent"],
    [" 12.5 % ", 12.5, "percent"],
  ])("%o", (quantity, value, unit) => {
    expect(parseQuantity("every", quantity, "step")).toEqual({ value, unit });
  });

  test.each(["", "often", "-3 steps", "1.2.3", "5 steps 3", "steps", "NaN", "Infinity", Infinity, NaN, -1])(
    "%o is none",
    (bad) => {
      expect(() => parseQuantity("every", bad, "step")).toThrow(OptionError);
    },
  );

  test("an unknown unit is an error with the nearest", () => {
    expect(() => parseQuantity("evalEvery", "5 epocs", "step")).toThrow(
      '`evalEvery`: unknown unit "epocs". Did you mean `epochs`? Units: steps, epochs,',
    );
  });

  test.each([
    ["epochEnd", "epoch"],
    ["epochBegin", "epoch"],
    ["batchBegin", "batches"],
    ["afterBackward", "batches"],
    ["stepEnd", "step"],
    ["beforeOptimizerStep", "step"],
    ["evalEnd", "step"],
    ["log", "step"],
    ["anOwnEvent", "step"],
  ])("a bare number on %s counts %s", (event, unit) => {
    expect(bareUnit(event)).toBe(unit);
  });

  test.each<[Cadence, RegExp]>([
    [0, /Expected `every` to be a number > 0/],
    ["0 steps", /Expected `on.every` to be more than 0, got `"0 steps"`/],
    [{ evry: 3 } as Cadence, /unknown option `evry`. Did you mean `every`\?/],
    [{ sample: 1.5 }, /Expected `sample` to be a number from 0 to 1, got `1.5`/],
    [{ at: 3 } as unknown as Cadence, /Expected `at` to be an array/],
    [{ atEnd: 1 } as unknown as Cadence, /Expected `atEnd` to be true or false/],
  ])("%o is refused", (cadence, message) => {
    expect(() => new CadenceRule("on", cadence, "stepEnd")).toThrow(message);
  });

  test("the loop asks at epochs only what counts whole epochs", () => {
    const event = (cadence: Cadence): string => boundaryRule("evalEvery", cadence).event;
    expect(event("1 epoch")).toBe("epochEnd");
    expect(event(5)).toBe("stepEnd");
    expect(event({ at: ["2 epochs"] })).toBe("epochEnd");
    expect(event({ at: ["2 epochs", 3] })).toBe("epochEnd");
    expect(event("0.5 epochs")).toBe("stepEnd");
    expect(event({ every: "1 epoch", at: ["1.5 epochs"] })).toBe("stepEnd");
    expect(event({ every: "1 epoch", at: ["10 steps"] })).toBe("stepEnd");
  });
});

describe("when", () => {
  const epochs: Plan = { stepsPerEpoch: 4, totalSteps: 12 };

  test.each<[Cadence, BuiltinEvent, number[]]>([
    [5, "stepEnd", [5, 10]],
    ["5 steps", "stepBegin", [5, 10]],
    [{ every: 3, from: 5 }, "stepEnd", [6, 9, 12]],
    [{ every: 3, until: 9 }, "stepEnd", [3, 6, 9]],
    [{ every: 1, from: 4, until: 6 }, "stepEnd", [4, 5, 6]],
    [{ at: [2, "7 steps"] }, "stepEnd", [2, 7]],
    [{ every: 5, at: [2] }, "stepEnd", [2, 5, 10]],
    [{ from: 11 }, "stepEnd", [11, 12]],
    [{ until: "0 steps" }, "stepEnd", []],
    ["25%", "stepEnd", [3, 6, 9, 12]],
    [{ every: 1, from: "75%" }, "stepEnd", [9, 10, 11, 12]],
    [{ at: ["50%"] }, "stepEnd", [6]],
    ["1 epoch", "stepEnd", [5, 9]],
    [{ every: 1, from: "2 epochs" }, "stepEnd", [9, 10, 11, 12]],
    [{ every: 1, until: "2 epochs" }, "stepEnd", [1, 2, 3, 4, 5, 6, 7, 8]],
    ["20 samples", "stepEnd", [5, 10]],
    ["20 samples", "stepBegin", [6, 11]],
    ["120 tokens", "stepEnd", [3, 5, 8, 10, 12]],
    ["50 ms", "stepEnd", [5, 10]],
    // Inside a step its own time has not passed yet.
    ["50 ms", "beforeOptimizerStep", [6, 11]],
    ["50 ms", "stepBegin", [6, 11]],
    ["50 ms", "batchBegin", [6, 11]],
    [2, "epochEnd", [8]],
    [2, "epochBegin", [4]],
    [{ at: [1, 3] }, "epochEnd", [4, 12]],
    // At the end of an epoch everything that its steps crossed counts.
    ["6 steps", "epochEnd", [8, 12]],
    ["6 steps", "epochBegin", [8]],
    ["90 ms", "epochEnd", [12]],
    ["24 samples", "epochEnd", [8, 12]],
    ["50%", "epochEnd", [8, 12]],
    [{}, "epochEnd", [4, 8, 12]],
  ])("%o on %s", (cadence, event, steps) => {
    expect(dueAt(cadence, event, evenSteps(12), epochs)).toEqual(steps);
  });

  test("an event that is not fired every step looks back to its last occasion", () => {
    const plan = { stepsPerEpoch: 100, evalEvery: 3 };
    expect(dueAt(5, "evalEnd", evenSteps(12), plan)).toEqual([6, 12]);
    expect(dueAt("70 ms", "evalEnd", evenSteps(12), plan)).toEqual([9]);
    expect(dueAt("28 samples", "evalEnd", evenSteps(12), plan)).toEqual([9]);
  });

  test("with several micro-batches in a step", () => {
    const plan = { stepsPerEpoch: 100 };
    const steps = evenSteps(4, 3);
    expect(dueAt(4, "batchBegin", steps, plan), "every fourth batch").toEqual([2, 3, 4]);
    expect(dueAt(4, "beforeFetch", steps, plan), "the same batches").toEqual([2, 3, 4]);
    expect(dueAt("100 tokens", "batchBegin", steps, plan), "every second batch").toEqual([1, 2, 2, 3, 4, 4]);
    expect(dueAt("5 batches", "stepEnd", steps, plan), "the step in which it is crossed").toEqual([2, 4]);
    expect(dueAt("2 steps", "batchBegin", steps, plan), "all batches of that step").toEqual([2, 2, 2, 4, 4, 4]);
  });

  test("nothing is due at zero", () => {
    const clock = new Clock();
    const moment = { clock, seed: 0, totalSteps: 10, epochBatches: 4, accumulate: 1 };
    for (const cadence of [1, 5, "1 epoch", "10%", "1 s", "5 samples"]) {
      for (const event of ["trainBegin", "evalBegin", "stepBegin"] as const)
        expect(new CadenceRule("on", cadence, event).due(moment), `${cadence} on ${event}`).toBe(false);
    }
  });

  test.each([
    [100, 1, 100],
    [1000, 0.1, 1000],
    [10_000, 0.07, 1428],
    [300, 7, 14],
    [7, 10, 7],
  ])("of %i steps, every %f %% comes %i times", (totalSteps, percent, times) => {
    const due = dueAt(`${percent}%`, "stepEnd", evenSteps(totalSteps), { stepsPerEpoch: totalSteps, totalSteps });
    expect(due).toHaveLength(times);
    expect(due[0]).toBe(Math.max(1, Math.ceil((percent * totalSteps) / 100 - 1e-6)));
  });

  test("percent without a known length is an error that says what to do", () => {
    expect(() => dueAt("10%", "stepEnd", evenSteps(1), { stepsPerEpoch: 1 })).toThrow(
      "a cadence in % needs the length of the run, which is not known here. Set `steps` or `epochs`",
    );
  });

  test("atEnd alone is no other occasion; with something else it takes nothing away", () => {
    const plan = { stepsPerEpoch: 100 };
    expect(dueAt({ atEnd: true }, "stepEnd", evenSteps(4), plan)).toEqual([]);
    expect(dueAt({ every: 2, atEnd: true }, "stepEnd", evenSteps(5), plan)).toEqual([2, 4]);
    expect(new CadenceRule("on", { every: 2, atEnd: true }, "stepEnd").atEnd).toBe(true);
    expect(new CadenceRule("on", 2, "stepEnd").atEnd).toBe(false);
  });
});

describe("sample", () => {
  const steps = evenSteps(2000);
  const plan = { stepsPerEpoch: 2000 };
  const share = (sample: number, seed = 0): number[] => dueAt({ every: 1, sample }, "stepEnd", steps, plan, seed);

  test("takes its share of the occasions", () => {
    expect(share(0)).toEqual([]);
    expect(share(1)).toHaveLength(2000);
    expect(share(0.25).length).toBeGreaterThan(420);
    expect(share(0.25).length).toBeLessThan(580);
  });

  test("the same for the same seed and name, another for others", () => {
    expect(share(0.25)).toEqual(share(0.25));
    expect(share(0.25, 1)).not.toEqual(share(0.25));
    const moment = { clock: new Clock(), seed: 0, totalSteps: undefined, epochBatches: undefined, accumulate: 1 };
    const chosen = (name: string): boolean[] =>
      Array.from({ length: 50 }, (_, step) => {
        moment.clock.now.step = step + 1;
        return new CadenceRule("on", { sample: 0.5 }, "stepEnd", name).due(moment);
      });
    expect(chosen("a")).not.toEqual(chosen("b"));
  });
});

describe("properties", () => {
  const batch = fc.record({ samples: fc.integer({ min: 1, max: 8 }), tokens: fc.integer({ min: 0, max: 300 }) });
  const step: fc.Arbitrary<MadeStep> = fc.record({
    batches: fc.array(batch, { minLength: 1, maxLength: 4 }),
    ms: fc.integer({ min: 0, max: 90 }),
  });
  const steps = fc.array(step, { minLength: 1, maxLength: 60 });
  const stepsPerEpoch = fc.integer({ min: 1, max: 9 });

  test("every n steps fires floor(steps / n) times on stepBegin and stepEnd", () => {
    fc.assert(
      fc.property(steps, stepsPerEpoch, fc.integer({ min: 1, max: 20 }), (made, length, n) => {
        for (const event of ["stepBegin", "stepEnd"] as const)
          expect(dueAt(n, event, made, { stepsPerEpoch: length })).toHaveLength(Math.floor(made.length / n));
      }),
    );
  });

  test("every n batches fires floor(batches / n) times on batch events", () => {
    fc.assert(
      fc.property(steps, stepsPerEpoch, fc.integer({ min: 1, max: 20 }), (made, length, n) => {
        const batches = made.reduce((sum, { batches: all }) => sum + all.length, 0);
        for (const event of ["beforeFetch", "batchBegin"] as const)
          expect(dueAt(n, event, made, { stepsPerEpoch: length })).toHaveLength(Math.floor(batches / n));
      }),
    );
  });

  test("amounts larger than an occasion brings fire floor(final / amount) times", () => {
    fc.assert(
      fc.property(steps, stepsPerEpoch, fc.integer({ min: 1, max: 5 }), (made, length, k) => {
        const sum = (of: (made: MadeStep) => number): number => made.reduce((total, each) => total + of(each), 0);
        const samples = sum(({ batches }) => batches.reduce((total, each) => total + each.samples, 0));
        const tokens = sum(({ batches }) => batches.reduce((total, each) => total + each.tokens, 0));
        const elapsed = sum(({ ms }) => ms);
        const count = (cadence: string, event: BuiltinEvent): number =>
          dueAt(cadence, event, made, { stepsPerEpoch: length }).length;
        expect(count(`${32 * k} samples`, "stepEnd")).toBe(Math.floor(samples / (32 * k)));
        expect(count(`${8 * k} samples`, "batchBegin")).toBe(Math.floor(samples / (8 * k)));
        expect(count(`${300 * k} tokens`, "batchBegin")).toBe(Math.floor(tokens / (300 * k)));
        expect(count(`${90 * k} ms`, "stepEnd")).toBe(Math.floor(elapsed / (90 * k)));
        expect(count(`${k * length} steps`, "epochEnd")).toBe(Math.floor(made.length / (k * length)));
      }),
    );
  });

  test("a run that is saved and resumed at any step fires at the same steps", () => {
    const cadences: Cadence[] = [
      3,
      "2 epochs",
      "7 batches",
      "50 samples",
      "500 tokens",
      "100 ms",
      "15%",
      { every: 1, sample: 0.4 },
      { at: [2, 9] },
    ];
    fc.assert(
      fc.property(steps, stepsPerEpoch, fc.nat(), (made, length, cut) => {
        const plan = { stepsPerEpoch: length, totalSteps: made.length, evalEvery: 4 };
        for (const cadence of cadences) {
          for (const event of EVENTS_HERE) {
            const at = cut % made.length;
            const due: number[] = [];
            const part = (from: ClockState | undefined, some: readonly MadeStep[]): ClockState => {
              const clock = new Clock();
              if (from) clock.load(from);
              const rule = new CadenceRule("on", cadence, event);
              const moment = { clock, seed: 0, totalSteps: made.length, epochBatches: undefined, accumulate: 1 };
              runLoop(
                clock,
                some,
                plan,
                (fired) => void (fired === event && rule.due(moment) && due.push(clock.now.step)),
              );
              return clock.state();
            };
            part(JSON.parse(JSON.stringify(part(undefined, made.slice(0, at)))) as ClockState, made.slice(at));
            expect(due, `${JSON.stringify(cadence)} on ${event}`).toEqual(dueAt(cadence, event, made, plan));
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});
