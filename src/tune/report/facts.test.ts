import { describe, expect, it, vi } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { choice, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { columnsOf, comparedValues, factsOf, shortColumnsOf, someOf, summaryOf, trialList } from "./facts.ts";

const study = { name: "s", space: new Space({ x: uniform(0, 1) }) };
const loss = { metric: "loss", mode: "min" } as const;
const params = { x: 0.5 };

describe("factsOf", () => {
  const trials = [
    trialInfo(0, { params, result: { loss: 2 }, reports: [{ step: 9, values: { loss: 2 } }] }),
    trialInfo(1, { params, result: { loss: 1 }, reports: [{ step: 9, values: { loss: 1 } }] }),
    trialInfo(2, { params, status: "pruned", result: { loss: 0.5 }, reports: [{ step: 3, values: { loss: 0.5 } }] }),
    trialInfo(3, { params, status: "failed", reason: "out of memory" }),
    trialInfo(4, { params, status: "failed", reason: "no such width" }),
    trialInfo(5, { params, status: "failed", reason: "no such width" }),
  ];
  const facts = factsOf({ ...study, objectives: [loss], trials });

  it("ranks, counts and sums up", () => {
    expect(facts.ranked.map(({ number }) => number)).toEqual([1, 0, 2]);
    expect(facts.all.map(({ number }) => number)).toEqual([1, 0, 2, 3, 4, 5]);
    expect(facts.best?.number).toBe(1);
    expect(facts.front).toEqual([]);
    expect(facts.counts).toEqual([
      { status: "completed", count: 2 },
      { status: "pruned", count: 1 },
      { status: "failed", count: 3 },
    ]);
    expect(facts.steps).toBe(21);
    expect(facts.ranked.map(facts.rank)).toEqual([0, 0.5, 1]);
    expect(facts.rank(trials[3]!)).toBeUndefined();
  });

  it("groups failures by their message, most frequent first", () => {
    expect(facts.failures).toEqual([
      { message: "no such width", trials: [4, 5] },
      { message: "out of memory", trials: [3] },
    ]);
  });

  it("has no best as long as nothing is completed", () => {
    expect(factsOf({ ...study, objectives: [loss], trials: trials.slice(2) }).best).toBeUndefined();
    expect(factsOf({ ...study, objectives: [loss], trials: [] })).toMatchObject({ ranked: [], counts: [], steps: 0 });
  });

  it("has a front of several objectives", () => {
    const both = [
      [1, 9],
      [2, 2],
      [3, 3],
      [9, 1],
    ].map(([a, b], number) => trialInfo(number, { params, result: { loss: a!, size: b! } }));
    const { front, best } = factsOf({ ...study, objectives: [loss, { metric: "size", mode: "min" }], trials: both });
    expect(front.map(({ number }) => number)).toEqual([0, 1, 3]);
    expect(best?.number).toBe(0);
  });

  it("keeps secrets to itself", () => {
    vi.stubEnv("TEST_API_KEY", "correct-horse-battery");
    const reason = "GET https://me:hunter2@host/?q=correct-horse-battery failed";
    const { failures, all } = factsOf({
      ...study,
      objectives: [loss],
      trials: [trialInfo(0, { params, status: "failed", reason })],
    });
    vi.unstubAllEnvs();
    expect(failures[0]!.message).toBe("GET https://…@host/?q=… failed");
    expect(all[0]!.reason).not.toMatch(/hunter2|horse/);
  });
});

it("compares completed trials where there are some, and else all", () => {
  const make = (status: "completed" | "pruned", value: number, i: number) =>
    trialInfo(i, { status, result: { loss: value } });
  const pruned = [7, 8].map((value, i) => make("pruned", value, i));
  const done = [1, 2, Number.NaN, 3].map((value, i) => make("completed", value, i + 2));
  expect(comparedValues([...pruned, ...done], loss)).toEqual([1, 2, 3]);
  expect(comparedValues([...pruned, done[0]!], loss)).toEqual([7, 8, 1]);
});

it("someOf takes the better half and a selection of the rest, with the last", () => {
  const all = Array.from({ length: 1000 }, (_, i) => i);
  const some = someOf(all, 10);
  expect(some.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  expect(some.slice(5)).toEqual([203, 402, 601, 800, 999]);
  expect(someOf(all, 1000)).toBe(all);
  expect(new Set(someOf(all, 997)).size).toBe(997);
});

describe("summary", () => {
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
    const facts = factsOf({
      name: "s",
      space,
      objectives,
      trials,
      elapsed: 75,
      status: "completed",
      reason: "3 trials",
    });
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
});

describe("columns", () => {
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
});
