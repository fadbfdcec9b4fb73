import { expect, it } from "vitest";
import { minimise, reported } from "../../../tests/support/trials.ts";
import { uniform } from "../space/parameters.ts";
import type { Decision, StudyView, TrialRecord } from "../types.ts";
import { median, type MedianOptions } from "./median.ts";

const study = minimise({ x: uniform(0, 1) });
const decide = (
  own: TrialRecord,
  others: readonly TrialRecord[],
  options?: MedianOptions,
  of: StudyView = study,
): Decision => median(options).decide(own, own.reports.at(-1)!, [...others, own], of);
const others = [1, 2, 3, 4, 5].map((loss) => reported(loss, [10, loss, 0]));

it("ends a trial whose best so far is worse than the median of the others at the same step", () => {
  expect(decide(reported(9, [9, 3]), others)).toEqual({ kind: "continue" });
  expect(decide(reported(9, [9, 3.1]), others)).toEqual({
    kind: "prune",
    reason: "its best `loss` by step 2 is worse than the median of 5 trials",
  });
  // What it had before counts, and what others have later does not.
  expect(decide(reported(9, [2.5, 8]), others).kind).toBe("continue");
});

it("of an even number, takes the middle of the two in the middle", () => {
  const four = others.slice(0, 4);
  expect(decide(reported(9, [9, 2.5]), four, { minTrials: 4 }).kind).toBe("continue");
  expect(decide(reported(9, [9, 2.6]), four, { minTrials: 4 }).kind).toBe("prune");
});

it("waits for `grace` steps, and for `minTrials` that have come as far", () => {
  expect(decide(reported(9, [99]), others, { grace: 2 }).kind).toBe("continue");
  expect(decide(reported(9, [99, 99]), others, { grace: 2 }).kind).toBe("prune");
  expect(decide(reported(9, [99, 99]), others, { minTrials: 6 }).kind).toBe("continue");
  expect(decide(reported(9, [99, 99, 99, 99]), others).kind).toBe("continue");
});

it("goes by the first objective and its mode, and lets a report without it pass", () => {
  const upside: StudyView = {
    ...study,
    objectives: [
      { metric: "loss", mode: "max" },
      { metric: "x", mode: "min" },
    ],
  };
  expect(decide(reported(9, [99, 99]), others, {}, upside).kind).toBe("continue");
  expect(decide(reported(9, [0, 0]), others, {}, upside).kind).toBe("prune");
  const silent: TrialRecord = { ...reported(9, []), reports: [{ step: 2, values: { other: 1 } }] };
  expect(decide(silent, others).kind).toBe("continue");
});

it("takes what is no number for the worst", () => {
  expect(decide(reported(9, [NaN, NaN]), others).kind).toBe("prune");
  expect(
    decide(
      reported(9, [9, 9]),
      others.map(({ number }) => reported(number, [NaN, NaN])),
    ).kind,
  ).toBe("continue");
});

it.each<[MedianOptions, string]>([
  [{ grace: -1 }, "Expected `grace` to be a number ≥ 0, got `-1`"],
  [{ minTrials: 0 }, "Expected `minTrials` to be a whole number ≥ 1, got `0`"],
])("refuses %o", (options, message) => {
  expect(() => median(options)).toThrow(message);
});
