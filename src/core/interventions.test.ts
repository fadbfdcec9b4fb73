import { expect, test } from "vitest";
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
