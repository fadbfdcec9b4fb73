import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { factsOf } from "./facts.ts";
import { summaryOf, trialList } from "./summary.ts";

const space = new Space({ x: uniform(0, 1) });
const params = { x: 0.5 };

it("says what was best in each objective, how many trials there were, and how it ended", () => {
  const trials = [
    trialInfo(0, { params, result: { loss: 1, acc: 0.5 }, reports: [{ step: 1200, values: {} }] }),
    trialInfo(1, { params, result: { loss: 2, acc: 0.9 } }),
    trialInfo(2, { params, status: "pruned", result: { loss: 0, acc: 1 } }),
  ];
  const objectives = [
    { metric: "loss", mode: "min" },
    { metric: "acc", mode: "max" },
  ] as const;
  const facts = factsOf({ name: "s", space, objectives, trials, elapsed: 75, status: "completed", reason: "3 trials" });
  expect(summaryOf(facts).map(({ title, text }) => `${title}: ${text}`)).toEqual([
    "lowest loss: 1 in trial 0",
    "highest acc: 0.9 in trial 1",
    "3 trials: 2 completed, 1 pruned",
    "steps: 1,200",
    "time: 1:15",
    "ended: completed: 3 trials",
  ]);
});

it("says when there is nothing yet", () => {
  const facts = factsOf({ name: "s", space, objectives: [{ metric: "loss", mode: "min" }], trials: [] });
  expect(summaryOf(facts).map(({ title, text }) => `${title}: ${text}`)).toEqual([
    "lowest loss: no trial has completed",
    "0 trials: none yet",
  ]);
});

it("lists trials, not too many", () => {
  expect(trialList([4])).toBe("trial 4");
  expect(trialList([1, 2, 3], 2)).toBe("trials 1, 2 and 1 more");
});
