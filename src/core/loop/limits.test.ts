import { describe, expect, test } from "vitest";
import { type LimitOptions, Limits, zeroCounters } from "./counters.ts";
import { OptionError } from "../errors.ts";

const at = (counters: Partial<ReturnType<typeof zeroCounters>>) => ({ ...zeroCounters(), ...counters });

describe("reached", () => {
  test.each<[LimitOptions, Partial<ReturnType<typeof zeroCounters>>, string | undefined]>([
    [{ steps: 10 }, { step: 9 }, undefined],
    [{ steps: 10 }, { step: 10 }, "10 steps"],
    [{ steps: 0 }, {}, "0 steps"],
    [{ maxSamples: 100 }, { samples: 99 }, undefined],
    [{ maxSamples: 100 }, { samples: 104 }, "100 samples"],
    [{ maxTokens: 1e6 }, { tokens: 1e6 }, "1000000 tokens"],
    [{ maxTime: "2 min" }, { elapsed: 119_999 }, undefined],
    [{ maxTime: "2 min" }, { elapsed: 120_000 }, "time limit (2 min)"],
    [{ maxTime: 500 }, { elapsed: 500 }, "time limit (500)"],
    [{ epochs: 1, steps: 5, maxSamples: 1 }, { step: 5, samples: 1 }, "5 steps"],
    [{ epochs: 3 }, { step: 1e9, epoch: 3 }, undefined],
  ])("%o at %o: %s", (options, counters, expected) => {
    expect(new Limits(options).reached(at(counters))).toBe(expected);
  });
});

test("a run without any limit is refused, with the choices", () => {
  expect(() => new Limits({})).toThrow(OptionError);
  expect(() => new Limits({ minSteps: 3 })).toThrow("one of epochs, steps, maxSamples, maxTokens or maxTime");
});

test.each(["10 steps", "5%", "soon"])("maxTime: %o is no time", (maxTime) => {
  expect(() => new Limits({ maxTime })).toThrow(/`maxTime`/);
});

describe("tooEarly", () => {
  const limits = new Limits({ epochs: 9, minSteps: 5, minEpochs: 2 });

  test("names the limit that is not reached", () => {
    expect(limits.tooEarly(at({ step: 4, epochsDone: 8 }))).toBe("before minSteps (5)");
    expect(limits.tooEarly(at({ step: 5, epochsDone: 1 }))).toBe("before minEpochs (2)");
    expect(limits.tooEarly(at({ step: 5, epochsDone: 2 }))).toBeUndefined();
  });

  test("without minima nothing is too early", () => {
    expect(new Limits({ steps: 1 }).tooEarly(zeroCounters())).toBeUndefined();
  });
});

describe("totalSteps", () => {
  test.each<[LimitOptions, number | undefined, number | undefined]>([
    [{ epochs: 3 }, 10, 30],
    [{ epochs: 3, steps: 25 }, 10, 25],
    [{ epochs: 3, steps: 50 }, 10, 30],
    [{ steps: 25 }, undefined, 25],
    [{ epochs: 3 }, undefined, undefined],
    [{ maxTime: "1 h" }, 10, undefined],
    [{ epochs: 0 }, 10, 0],
  ])("%o with %o steps an epoch: %o", (options, stepsPerEpoch, total) => {
    expect(new Limits(options).totalSteps(stepsPerEpoch)).toBe(total);
  });
});
