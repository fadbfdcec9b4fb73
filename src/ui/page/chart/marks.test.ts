import { expect, test } from "vitest";
import type { RunEvent } from "../../../runs/types.ts";
import { describe as words, locateEvaluations, marksOf } from "./marks.ts";

const event = (type: RunEvent["type"], step: number, details: RunEvent["details"]): RunEvent => ({
  type,
  step,
  time: step,
  details,
});

test("a request that was refused later is one mark, with the reason", () => {
  const stop = { who: "tamer", what: "stop", why: "plateau" };
  const marks = marksOf(
    [
      event("start", 0, {}),
      event("intervention", 2, stop),
      event("intervention", 3, stop),
      event("refused", 3, { ...stop, refused: "before minSteps (9)" }),
      event("refused", 4, { who: "control", by: "ada@lab3", what: "rollback", refused: "no checkpoint" }),
    ],
    [],
  );
  expect(marks.map(({ kind, step, who, why }) => [kind, step, who, why])).toEqual([
    ["hook", 2, "tamer", "plateau"],
    ["refused", 3, "tamer", "before minSteps (9)"],
    ["refused", 4, "ada@lab3", "no checkpoint"],
  ]);
});

test("what came after the checkpoint that a run was resumed from did not happen", () => {
  const lr = { who: "tamer", what: "setLr(0.1)" };
  const events = [event("intervention", 5, lr), event("intervention", 9, lr), event("start", 6, {})];
  const parts = [
    { step: 0, startedAt: 0 },
    { step: 6, startedAt: 20 },
  ];
  expect(marksOf(events, parts).map(({ kind, step }) => [kind, step])).toEqual([
    ["hook", 5],
    ["part", 6],
  ]);
});

test("evaluations are where their metric has points, with their step on other axes", () => {
  const points = (x: number[], y: number[]) => ({
    x: Float64Array.from(x),
    y: Float64Array.from(y),
    reduced: false,
    total: x.length,
    rev: 1,
  });
  const losses = points([10, 20], [0.5, 0.25]);
  const marks = (axis: "step" | "elapsed") =>
    locateEvaluations("val/loss", losses, axis, axis === "step" ? null : points([10, 20], [100, 200]));
  expect(marks("step").map((mark) => words(mark))).toEqual([
    "val/loss 0.5 · evaluation\nstep 10",
    "val/loss 0.25 · evaluation\nstep 20",
  ]);
  expect(marks("elapsed").map(({ at, step }) => [at, step])).toEqual([
    [10, 100],
    [20, 200],
  ]);
  const many = points(
    Array.from({ length: 20_000 }, (_, i) => i),
    Array.from({ length: 20_000 }, () => 1),
  );
  expect(locateEvaluations("val/loss", many, "step", null).length).toBeLessThanOrEqual(500);
});
