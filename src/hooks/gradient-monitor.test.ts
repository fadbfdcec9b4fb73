import { describe, expect, test } from "vitest";
import type { Hook } from "../core/hook.ts";
import { linear, relu, sequential } from "../nn/index.ts";
import { sgd } from "../optim/index.ts";
import { tinyTrainer } from "../testing/index.ts";
import {
  gradHistograms,
  gradientMonitor,
  type GradHistograms,
  type GradientMonitorOptions,
} from "./gradient-monitor.ts";

const mlp = () => sequential(linear(3, 4), relu(), linear(4, 1));
const PARAMS = ["0.weight", "0.bias", "2.weight", "2.bias"];

/** What each step had logged under `grad/…`, and the gradients themselves. */
function witness(): {
  hook: Hook;
  steps: { step: number; metrics: Record<string, number>; grads: Record<string, number[]> }[];
} {
  const steps: { step: number; metrics: Record<string, number>; grads: Record<string, number[]> }[] = [];
  const grads: Record<string, number[]> = {};
  const hook: Hook = {
    name: "witness",
    stage: "progress",
    onError: "throw",
    async onBeforeOptimizerStep(ctx) {
      for (const name of ctx.grads.names) grads[name] = [...((await ctx.grads.get(name)).data as Float32Array)];
    },
    onLog(ctx) {
      const metrics = Object.fromEntries(Object.entries(ctx.logged).filter(([name]) => name.startsWith("grad/")));
      if (Object.keys(metrics).length > 0) steps.push({ step: ctx.step, metrics, grads: { ...grads } });
    },
  };
  return { hook, steps };
}

const norm = (...all: number[][]): number => Math.hypot(...all.flat());

test("norms of each parameter and of all, at its steps only", async () => {
  const { hook, steps } = witness();
  await tinyTrainer({ model: mlp(), logEvery: 1, hooks: [gradientMonitor({ every: 2 }), hook] }).fit();
  expect(steps.map(({ step }) => step)).toEqual([2, 4]);
  for (const { metrics, grads } of steps) {
    expect(Object.keys(metrics).sort()).toEqual(["grad/norm", ...PARAMS.map((name) => `grad/norm/${name}`)].sort());
    for (const name of PARAMS) expect(metrics[`grad/norm/${name}`]).toBeCloseTo(norm(grads[name]!), 5);
    expect(metrics["grad/norm"]).toBeCloseTo(norm(...Object.values(grads)), 5);
  }
});

test("by default every 100 steps, and steps in between stay one program", async () => {
  const { hook, steps } = witness();
  const { onBeforeOptimizerStep: _, ...quiet } = hook;
  const plans: string[] = [];
  const trainer = tinyTrainer({ steps: 101, logEvery: 1, hooks: [gradientMonitor(), quiet] });
  trainer.on("stepBegin", () => void plans.push(trainer.explainPlan().split(":")[0]!));
  await trainer.fit();
  expect(steps.map(({ step }) => step)).toEqual([100]);
  expect(plans.filter((plan) => plan === "split")).toHaveLength(1);
  expect(plans[99]).toBe("split");
});

test("it does not change a bit of the run", async () => {
  const plain = tinyTrainer({ model: mlp(), epochs: 3 });
  const watched = tinyTrainer({
    model: mlp(),
    epochs: 3,
    hooks: [gradientMonitor({ every: 3, percentiles: [50], histogram: 4 })],
  });
  await plain.fit();
  await watched.fit();
  expect(await watched.stateDict()).toEqual(await plain.stateDict());
});

test("percentiles, and histograms through shared", async () => {
  const { hook, steps } = witness();
  const seen: unknown[] = [];
  const reader: Hook = {
    name: "reader",
    stage: "logger",
    onStepEnd: (ctx) => void seen.push(ctx.shared.get(gradHistograms)),
  };
  const monitor = gradientMonitor({ every: 1, norm: false, percentiles: [0, 50, 99.5, 100], histogram: 5 });
  await tinyTrainer({ model: mlp(), steps: 1, logEvery: 1, hooks: [monitor, reader, hook] }).fit();
  const { metrics, grads } = steps[0]!;
  const sorted = grads["0.weight"]!.toSorted((a, b) => a - b);
  expect(metrics["grad/p0/0.weight"]).toBeCloseTo(sorted[0]!, 6);
  expect(metrics["grad/p50/0.weight"]).toBeCloseTo((sorted[5]! + sorted[6]!) / 2, 6);
  expect(metrics["grad/p100/0.weight"]).toBeCloseTo(sorted[11]!, 6);
  expect(metrics).toHaveProperty(["grad/p99.5/2.bias"]);
  expect(metrics).not.toHaveProperty(["grad/norm"]);
  const histograms = Object.fromEntries(
    PARAMS.map((name) => [name, { edges: expect.any(Array), counts: expect.any(Array) }]),
  );
  expect(seen).toEqual([{ step: 1, histograms }]);
  const histogram = (seen[0] as GradHistograms).histograms["0.weight"]!;
  expect(histogram.counts).toHaveLength(5);
  expect(histogram.counts.reduce((a, b) => a + b)).toBe(12);
});

describe("filter", () => {
  test.each([
    ["part of a name", "bias", ["0.bias", "2.bias"]],
    ["several", ["0.bias", "2.weight"], ["0.bias", "2.weight"]],
    ["a glob", "0.*", ["0.bias", "0.weight"]],
    ["a function", (name: string) => name === "2.bias", ["2.bias"]],
  ])("%s; the global norm stays that of all", async (_, filter, expected) => {
    const { hook, steps } = witness();
    const monitor = gradientMonitor({ every: 1, filter });
    await tinyTrainer({ model: mlp(), steps: 1, logEvery: 1, hooks: [monitor, hook] }).fit();
    const { metrics, grads } = steps[0]!;
    expect(Object.keys(metrics).sort()).toEqual(["grad/norm", ...expected.map((name) => `grad/norm/${name}`)]);
    expect(metrics["grad/norm"]).toBeCloseTo(norm(...Object.values(grads)), 5);
  });

  test("one that matches nothing is an error at the start", async () => {
    const trainer = tinyTrainer({ hooks: [gradientMonitor({ filter: "wieght" })] });
    await expect(trainer.fit()).rejects.toThrow(/`filter` matches no parameter. Parameters: .*weight/);
  });
});

test("several optimizers: one global norm over all", async () => {
  const { hook, steps } = witness();
  const optimizer = { a: sgd({ lr: 0.1, params: "0." }), b: sgd({ lr: 0.1, params: "2." }) };
  const monitor = gradientMonitor({ every: 1, filter: ["2.weight"], histogram: 2 });
  await tinyTrainer({ model: mlp(), optimizer, steps: 1, logEvery: 1, hooks: [monitor, hook] }).fit();
  const { metrics, grads } = steps[0]!;
  expect(Object.keys(grads)).toEqual(expect.arrayContaining(PARAMS));
  expect(metrics["grad/norm"]).toBeCloseTo(norm(...Object.values(grads)), 5);
});

describe("vanishing and exploding", () => {
  const run = async (options: GradientMonitorOptions) => {
    const warnings: string[] = [];
    const { hook, steps } = witness();
    const monitor = gradientMonitor({ every: 1, ...options });
    const hooks = [monitor, hook];
    const trainer = tinyTrainer({ model: mlp(), logEvery: 1, warn: (message) => void warnings.push(message), hooks });
    return { result: await trainer.fit(), warnings, counts: steps.map(({ metrics }) => metrics) };
  };

  test("log counts parameters", async () => {
    const { counts, warnings } = await run({ vanishing: 1e9, exploding: 1e9, action: "log" });
    expect(counts[0]).toMatchObject({ "grad/vanishing": 4, "grad/exploding": 0 });
    expect(warnings).toEqual([]);
    expect((await run({})).counts[0]).not.toHaveProperty(["grad/vanishing"]);
  });

  test("warn says which, once", async () => {
    const { warnings, result } = await run({ exploding: 1e-9 });
    expect(result.status).toBe("completed");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /^gradientMonitor: exploding gradients, norm above 1e-9: 0\.\w+ \([\d.e-]+\), .* and 1 more, at step 1$/,
    );
  });

  test("stop ends the run with the reason", async () => {
    const { result } = await run({ vanishing: 1e9, action: "stop" });
    expect(result).toMatchObject({ status: "stopped", steps: 1, requestedBy: "gradientMonitor" });
    expect(result.reason).toMatch(/^gradientMonitor: vanishing gradients, norm below 1000000000: /);
  });

  test("a gradient that is not finite explodes", async () => {
    const poison: Hook = { name: "poison", onBeforeOptimizerStep: (ctx) => ctx.grads.map((g) => g.div(0)) };
    const hooks = [gradientMonitor({ every: 1, exploding: 1e30, action: "stop" }), poison];
    const { reason } = await tinyTrainer({ hooks }).fit();
    expect(reason).toMatch(/exploding .*(NaN|Infinity)/);
  });
});

describe("what users of other systems complain about", () => {
  test("HF #31033, DeepSpeed #5199, Lightning #3396, catalyst #576: the gradients are there, at every step", async () => {
    const { hook, steps } = witness();
    await tinyTrainer({ epochs: 2, logEvery: 1, hooks: [gradientMonitor({ every: 1 }), hook] }).fit();
    expect(steps).toHaveLength(8);
    for (const { metrics } of steps) expect(metrics["grad/norm"]).toBeGreaterThan(0);
  });

  test("Lightning #18669, #12595, optax #326, miles #2132: the norm is the one before clipping", async () => {
    const norms = async (clipNorm?: number): Promise<number> => {
      const monitor = gradientMonitor({ every: 1 });
      const result = await tinyTrainer({ steps: 1, hooks: [monitor], ...(clipNorm && { clipNorm }) }).fit();
      return result.metrics["grad/norm"]!;
    };
    expect(await norms(1e-3)).toBe(await norms());
  });

  test("Lightning #17958, #831, #2242, #12643: counts steps, not micro-batches and not optimizers", async () => {
    const { hook, steps } = witness();
    const optimizer = { a: sgd({ lr: 0.1, params: "weight" }), b: sgd({ lr: 0.1, params: "bias" }) };
    const hooks = [gradientMonitor({ every: 2 }), hook];
    await tinyTrainer({ samples: 32, accumulate: 2, optimizer, logEvery: 1, hooks }).fit();
    expect(steps.map(({ step }) => step)).toEqual([2, 4]);
  });
});

test("options are checked", () => {
  expect(() => gradientMonitor({ percentile: [50] } as GradientMonitorOptions)).toThrow(/Did you mean `percentiles`\?/);
  expect(() => gradientMonitor({ every: "10 stpes" })).toThrow(/Did you mean "?`?steps/);
  expect(() => gradientMonitor({ percentiles: [101] })).toThrow(/each a number from 0 to 100/);
  expect(() => gradientMonitor({ action: "raise" } as unknown as GradientMonitorOptions)).toThrow(/`action`/);
});
