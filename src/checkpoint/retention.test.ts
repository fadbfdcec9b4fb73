// What stays: the rules one by one, then what must hold for any rules and any checkpoints.
import fc from "fast-check";
import { expect, test } from "vitest";
import { retain, type RetentionEntry, type RetentionRules } from "./retention.ts";

const entry = (step: number, loss?: number): RetentionEntry => ({
  name: `s${step}`,
  step,
  time: step,
  metrics: loss === undefined ? {} : { "val/loss": loss },
});
const entries = [entry(1, 0.5), entry(2, 0.1), entry(3, 0.9), entry(4, 0.2), entry(5, 0.4)];
const kept = (rules: RetentionRules, inFlight: string[] = [], of = entries): string[] =>
  [...retain(of, rules, inFlight).keep.keys()].sort();

test.each<[RetentionRules, string[]]>([
  [{}, ["s1", "s2", "s3", "s4", "s5"]],
  [{ monitor: "val/loss", saveTopK: 2 }, ["s2", "s4"]],
  [{ monitor: "val_loss", mode: "max", saveTopK: 2 }, ["s1", "s3"]],
  [{ monitor: "val/loss", saveTopK: -1 }, ["s1", "s2", "s3", "s4", "s5"]],
  [{ monitor: "val/loss", saveTopK: 1, saveLast: true }, ["s2", "s5"]],
  [{ monitor: "val/loss", saveTopK: 1, saveLast: 2 }, ["s2", "s4", "s5"]],
  [{ monitor: "val/loss", saveTopK: 1, saveLast: true, milestoneEvery: 3 }, ["s2", "s3", "s5"]],
  [{ saveTotalLimit: 2 }, ["s4", "s5"]],
  [{ monitor: "val/loss", saveTotalLimit: 2 }, ["s2", "s4"]],
  [{ monitor: "val/loss", saveTotalLimit: 2, saveTopK: 4 }, ["s2", "s4"]],
  [{ monitor: "val/loss", saveTotalLimit: 1, saveLast: true }, ["s2", "s5"]],
  [{ saveTotalLimit: 1, milestoneEvery: 2 }, ["s2", "s4", "s5"]],
  [{ monitor: "val/loss", saveTopK: 0 }, ["s5"]],
  [{ saveLast: false }, ["s5"]],
])("%j keeps %j", (rules, names) => expect(kept(rules)).toEqual(names));

test("the one in flight stays, and is not the only one", () => {
  expect(kept({ monitor: "val/loss", saveTopK: 1 }, ["s3"])).toEqual(["s2", "s3"]);
  expect(kept({ saveTotalLimit: 1 }, ["s5"])).toEqual(["s4", "s5"]);
});

test("without a value or with NaN one ranks last; of equals the older stays", () => {
  const odd = [entry(1), entry(2, NaN), entry(3, 7), entry(4, 7), entry(5, Infinity)];
  const best = (saveTopK: number) => kept({ monitor: "val/loss", saveTopK }, [], odd);
  expect(best(1)).toEqual(["s3"]);
  expect(best(2)).toEqual(["s3", "s4"]);
  expect(best(3)).toEqual(["s3", "s4", "s5"]);
});

test("says why each is kept, and lists what goes from the oldest", () => {
  const { keep, remove } = retain(entries, { monitor: "val/loss", saveTopK: 1, saveLast: true, milestoneEvery: 2 });
  expect(Object.fromEntries(keep)).toEqual({ s2: ["best", "milestone"], s4: ["milestone"], s5: ["last"] });
  expect(remove).toEqual(["s1", "s3"]);
});

const anyEntries = fc
  .uniqueArray(fc.record({ step: fc.nat(60), loss: fc.option(fc.double(), { nil: undefined }) }), {
    selector: ({ step }) => step,
    maxLength: 15,
  })
  .map((all) => all.map(({ step, loss }) => entry(step, loss)));
const anyRules: fc.Arbitrary<RetentionRules> = fc.record(
  {
    monitor: fc.constant("val/loss"),
    mode: fc.constantFrom("min" as const, "max" as const),
    saveTopK: fc.integer({ min: -1, max: 5 }),
    saveLast: fc.oneof(fc.boolean(), fc.nat(4)),
    milestoneEvery: fc.integer({ min: 1, max: 20 }),
    saveTotalLimit: fc.integer({ min: 1, max: 6 }),
  },
  { requiredKeys: [] },
);

test("whatever the rules: none is forgotten, none in flight goes, the last good one stays, quotas hold", () => {
  fc.assert(
    fc.property(anyEntries, anyRules, fc.subarray(["s1", "s5", "s10", "s40"]), (all, rules, inFlight) => {
      const { keep, remove } = retain(all, rules, inFlight);
      expect([...keep.keys(), ...remove].sort()).toEqual(all.map(({ name }) => name).sort());
      for (const name of inFlight) expect(remove).not.toContain(name);
      const settled = all.filter(({ name }) => !inFlight.includes(name));
      if (settled.length > 0) expect(settled.some(({ name }) => keep.has(name))).toBe(true);
      const with_ = (reason: string): number =>
        [...keep.values()].filter((why) => why.includes(reason as never)).length;
      const limit = rules.saveTotalLimit ?? Infinity;
      const topK = rules.saveTopK === -1 ? Infinity : (rules.saveTopK ?? 0);
      expect(with_("best")).toBeLessThanOrEqual(Math.min(topK, limit));
      expect(with_("limit")).toBeLessThanOrEqual(limit);
      expect(with_("last")).toBeLessThanOrEqual(Number(rules.saveLast ?? 0));
      for (const { name, step } of all) {
        if (rules.milestoneEvery && step > 0 && step % rules.milestoneEvery === 0) expect(keep.has(name)).toBe(true);
      }
    }),
    { numRuns: 3000 },
  );
});

test("the order in which they are listed does not matter, and what is kept is kept again", () => {
  fc.assert(
    fc.property(anyEntries, anyRules, fc.infiniteStream(fc.nat()), (all, rules, keys) => {
      const shuffled = all.map((each) => [keys.next().value as number, each] as const).sort(([a], [b]) => a - b);
      const first = retain(all, rules);
      expect(
        retain(
          shuffled.map(([, each]) => each),
          rules,
        ).remove,
      ).toEqual(first.remove);
      const left = all.filter(({ name }) => first.keep.has(name));
      expect(retain(left, rules).remove).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});
