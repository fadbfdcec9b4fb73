import { expect, test } from "vitest";
import { memoryStore } from "../checkpoint/index.ts";
import { tinyTrainer } from "../testing/index.ts";
import type { Hook } from "./hook.ts";
import { Audit } from "./interventions.ts";

const entry = (step: number) => ({ who: "hook", event: "stepEnd", step, epoch: 0, what: "stop" });

test("entries come back in order, as a copy", () => {
  const audit = new Audit();
  audit.add(entry(1));
  audit.add(entry(2));
  const list = [...audit.entries];
  audit.add(entry(3));
  expect(list.map(({ step }) => step)).toEqual([1, 2]);
});

test("what is refused later shows in the list", () => {
  const audit = new Audit();
  const added = audit.add(entry(1));
  added.refused = "before minSteps (5)";
  expect(audit.entries[0]).toMatchObject({ step: 1, refused: "before minSteps (5)" });
});

test("past ten thousand the oldest go, and are counted", () => {
  const audit = new Audit();
  for (let step = 1; step <= 10_003; step++) audit.add(entry(step));
  expect(audit.entries).toHaveLength(10_000);
  expect(audit.entries[0]!.step).toBe(4);
  expect(audit.entries.at(-1)!.step).toBe(10_003);
  expect(audit.dropped).toBe(3);
  audit.clear();
  expect([audit.entries, audit.dropped]).toEqual([[], 0]);
});

test("a hook that is switched off during a run has a line in the audit, and stays off in a resumed one", async () => {
  const store = memoryStore();
  const calls: number[] = [];
  const counts: Hook = { name: "counts", onStepEnd: ({ step }) => void calls.push(step) };
  const switches: Hook = {
    name: "switches",
    after: "counts",
    onStepEnd(ctx) {
      if (ctx.step === 2) trainer.hooks.disable("counts");
      if (ctx.step === 3) ctx.requestSave("mine");
    },
  };
  const options = { store, steps: 4, save: "sync" as const };
  const trainer = tinyTrainer({ ...options, hooks: [counts, switches] });
  const { interventions } = await trainer.fit();
  expect(interventions.map(({ who, step, what }) => [who, step, what])).toEqual([
    ["switches", 2, 'setHook("counts", false)'],
    ["switches", 3, "requestSave"],
  ]);
  await tinyTrainer({ ...options, steps: 6, hooks: [counts] }).fit({ resume: "auto" });
  expect(calls).toEqual([1, 2]);
  // Another run has the hooks that it was given.
  await tinyTrainer({ steps: 1, hooks: [counts] }).fit();
  expect(calls).toEqual([1, 2, 1]);
});
