// probe logs statistics of points at its cadence, and nothing in between.
import { DataLoader } from "hookline/data";
import { describe, expect, test } from "vitest";
import { classes, classifier, transformer } from "../../tests/support/probed.ts";
import type { Hook } from "../core/hook.ts";
import { probe, probedStats, type ProbedStats } from "./probe.ts";

describe("metrics", () => {
  test("by default norm, mean and std of every point, of this step", async () => {
    const logged: Record<string, number>[] = [];
    const reader: Hook = {
      name: "reader",
      stage: "logger",
      onError: "throw",
      onStepEnd: (ctx) => void logged.push({ ...ctx.metrics }),
    };
    await using trainer = classifier({ hooks: [probe({ every: 3 }), reader] });
    await trainer.fit();
    const acts = (metrics: Record<string, number>) => Object.keys(metrics).filter((key) => key.startsWith("act/"));
    expect(acts(logged[1]!)).toEqual([]);
    expect(acts(logged[2]!).sort()).toEqual(
      ["0", "1", "2"].flatMap((point) => ["mean", "norm", "std"].map((stat) => `act/${stat}/${point}`)).sort(),
    );
    // Step 3 saw the parameters after two steps and the third batch.
    await using other = classifier({ steps: 2 });
    await other.fit();
    const third = new DataLoader(classes, { batchSize: 4 });
    third.begin(0, 0);
    await third.skip();
    await third.skip();
    const { activations } = await other.runWithProbes((await third.next())!, { collect: "stats" });
    for (const point of ["0", "1", "2"]) {
      const { norm, mean, std } = activations.stats(point);
      expect(logged[2]![`act/norm/${point}`]).toBeCloseTo(norm, 5);
      expect(logged[2]![`act/mean/${point}`]).toBeCloseTo(mean, 5);
      expect(logged[2]![`act/std/${point}`]).toBeCloseTo(std, 5);
    }
  });

  test("those asked for, of the points asked for", async () => {
    const options = { match: "*.mlp.1", stats: ["dead", "max"], percentiles: [50], every: 2 } as const;
    await using trainer = transformer({ hooks: [probe(options)], eval: undefined as never });
    const { metrics } = await trainer.fit();
    const acts = Object.entries(metrics).filter(([key]) => key.startsWith("act/"));
    expect(acts.map(([key]) => key)).toEqual(
      [0, 1].flatMap((i) => ["dead", "max", "p50"].map((stat) => `act/${stat}/blocks.${i}.mlp.1`)),
    );
    for (const [key, value] of acts) expect(value, key).toBeGreaterThanOrEqual(0);
  });
});

test("other hooks find everything in `probedStats`, with or without metrics", async () => {
  const found: (ProbedStats | undefined)[] = [];
  const reader: Hook = {
    name: "reader",
    stage: "logger",
    onError: "throw",
    onStepEnd: (ctx) => void found.push(ctx.shared.get(probedStats)),
  };
  await using trainer = classifier({ hooks: [probe({ match: "1", histogram: 4, every: 2, log: false }), reader] });
  const { metrics } = await trainer.fit();
  expect(Object.keys(metrics).filter((key) => key.startsWith("act/"))).toEqual([]);
  expect(found.map((each) => each?.step)).toEqual([undefined, 2, 2, 4]);
  expect(Object.keys(found[3]!.stats)).toEqual(["1"]);
  expect(found[3]!.stats["1"]!.histogram!.counts.reduce((a, b) => a + b, 0)).toBe(4 * 8);
});

test("a skipped step logs nothing", async () => {
  const skip: Hook = { name: "skip", onStepBegin: (ctx) => ctx.skip("step") };
  await using trainer = classifier({ hooks: [skip, probe({ every: 1 })] });
  const { metrics } = await trainer.fit();
  expect(Object.keys(metrics).filter((key) => key.startsWith("act/"))).toEqual([]);
});

test("two with names of their own live side by side", async () => {
  await using trainer = classifier({
    hooks: [probe({ match: "0", every: 2 }), probe({ name: "second", match: "2", stats: ["min"], every: 4 })],
  });
  const { metrics } = await trainer.fit();
  expect(metrics).toHaveProperty("act/min/2");
  expect(metrics).not.toHaveProperty("act/min/0");
  expect(metrics).toHaveProperty("act/norm/0");
});

test("options are checked at once, points at the first step", async () => {
  expect(() => probe({ stat: ["norm"] } as never)).toThrow("probe: unknown option `stat`. Did you mean `stats`?");
  expect(() => probe({ stats: ["median"] as never })).toThrow("probe: Expected `stats`");
  expect(() => probe({ percentiles: [101] })).toThrow("a number from 0 to 100");
  await using trainer = classifier({ hooks: [probe({ match: "attn", every: 1 })] });
  await expect(trainer.fit()).rejects.toThrow("Points: 0, 1, 2.");
});
