import { expect, it } from "vitest";
import type { TrialInfo } from "../../core/tune.types.ts";
import { trialInfo } from "../../../tests/support/trials.ts";
import { choice } from "../space/choice.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { columnsOf, shortColumnsOf } from "./columns.ts";
import { factsOf } from "./facts.ts";

const space = new Space({ lr: uniform(0, 1), act: choice(["relu", "tanh"]) });
const objectives = [{ metric: "loss", mode: "min" }] as const;
const done = trialInfo(0, {
  params: { lr: 0.123456789, act: "relu" },
  result: { loss: 2 },
  reports: [{ step: 3, values: {} }],
});

it("has a column for each objective and parameter, numbers as such", () => {
  const columns = columnsOf(factsOf({ name: "s", space, objectives, trials: [done] }));
  expect(columns.map(({ title, kind }) => `${title}: ${kind}`)).toEqual([
    "trial: number",
    "status: text",
    "loss: number",
    "lr: number",
    "act: text",
    "steps: number",
  ]);
  expect(columns.map((column) => column.text(done))).toEqual(["0", "completed", "2", "0.12346", "relu", "3"]);
});

it("says how a trial went where there is something to say", () => {
  const failed = trialInfo(1, { params: done.params, status: "failed", attempts: 2, reason: "boom" });
  const facts = factsOf({ name: "s", space, objectives, trials: [done, failed] });
  expect(
    columnsOf(facts)
      .slice(-2)
      .map((column) => [column.title, column.text(failed)]),
  ).toEqual([
    ["attempts", "2"],
    ["why", "boom"],
  ]);
  const short = (...shown: readonly TrialInfo[]) => shortColumnsOf(facts, shown).map(({ title }) => title);
  expect(short(done)).toEqual(["trial", "loss", "lr", "act", "steps"]);
  // Beside completed ones, the value of one that ended early would be taken for a result.
  expect(short(done, { ...done, status: "pruned" })).toEqual(["trial", "status", "loss", "lr", "act", "steps"]);
});
