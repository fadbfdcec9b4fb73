import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BuiltinEvent } from "../core/events.ts";
import type { Hook } from "../core/hook.ts";
import { methodOf } from "../core/events.ts";
import { DataLoader } from "../data/data-loader.ts";
import { testContext, tinyData, tinyTrainer } from "../testing/index.ts";
import { throughput, type ThroughputOptions } from "./throughput.ts";

let now = 0;
beforeEach(() => {
  now = 1000;
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Fires an event with these counters and returns what was logged. */
function fire(hook: Hook, event: BuiltinEvent, step = 0): Record<string, number> {
  const { ctx, calls } = testContext(event, { step, samplesSeen: 32 * step, tokensSeen: 1000 * step });
  (hook[methodOf(event)] as ((ctx: unknown) => void) | undefined)?.call(hook, ctx);
  return Object.assign({}, ...calls.map(({ args }) => args[0])) as Record<string, number>;
}

/** A step that waits 30 ms for its data and takes 100 ms in all. */
function step(hook: Hook, at: number): Record<string, number> {
  fire(hook, "beforeFetch", at);
  now += 30;
  fire(hook, "batchBegin", at);
  now += 70;
  return fire(hook, "stepEnd", at);
}

function begun(options: ThroughputOptions): Hook {
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const hook = throughput(options);
  fire(hook, "trainBegin");
  return hook;
}

test("rates over a window, without the step that compiles", () => {
  const hook = begun({ window: 5, flopsPerSample: 1e6, peakFlops: 1e9 });
  now += 60_000;
  expect(step(hook, 1)).toEqual({});
  for (const at of [2, 3, 4, 5]) expect(step(hook, at)).toEqual({});
  const logged = step(hook, 6);
  expect(logged["perf/stepsPerSec"]).toBeCloseTo(10);
  expect(logged["perf/samplesPerSec"]).toBeCloseTo(320);
  expect(logged["perf/tokensPerSec"]).toBeCloseTo(10_000);
  expect(logged["perf/dataWait"]).toBeCloseTo(0.3);
  expect(logged["perf/flops"]).toBeCloseTo(320e6);
  expect(logged["perf/mfu"]).toBeCloseTo(0.32);
  for (const at of [7, 8, 9, 10]) expect(step(hook, at)).toEqual({});
  expect(step(hook, 11)["perf/stepsPerSec"]).toBeCloseTo(10);
});

test("right after a resume: what was done before is not speed", () => {
  const hook = begun({ window: 2 });
  step(hook, 10_001);
  step(hook, 10_002);
  const logged = step(hook, 10_003);
  expect(logged["perf/stepsPerSec"]).toBeCloseTo(10);
  expect(logged["perf/samplesPerSec"]).toBeCloseTo(320);
});

test("evaluations are left out", () => {
  const hook = begun({ window: 2 });
  step(hook, 1);
  fire(hook, "evalBegin", 1);
  now += 5000;
  fire(hook, "evalEnd", 1);
  step(hook, 2);
  expect(step(hook, 3)["perf/stepsPerSec"]).toBeCloseTo(10);
});

test("pauses are left out, with the evaluations in them", () => {
  const hook = begun({ window: 2 });
  step(hook, 1);
  fire(hook, "pause", 1);
  now += 2000;
  fire(hook, "evalBegin", 1);
  now += 5000;
  fire(hook, "evalEnd", 1);
  now += 1000;
  fire(hook, "continue", 1);
  step(hook, 2);
  expect(step(hook, 3)["perf/stepsPerSec"]).toBeCloseTo(10);
});

test("a run shorter than its window is reported at its end, and only then", () => {
  const short = begun({});
  for (const at of [1, 2, 3]) step(short, at);
  expect(fire(short, "trainEnd", 3)["perf/stepsPerSec"]).toBeCloseTo(10);
  const long = begun({ window: 1 });
  for (const at of [1, 2, 3]) step(long, at);
  expect(fire(long, "trainEnd", 3)).toEqual({});
});

test("a real run: a slow loader shows as waiting, and tokens only when they are counted", async () => {
  const loader = new DataLoader(tinyData(16), { batchSize: 4 });
  const slow = {
    get length() {
      return loader.length;
    },
    begin: (epoch: number, seed: number) => loader.begin(epoch, seed),
    async next() {
      await new Promise((resolve) => void setTimeout(resolve, 15));
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state: never) => loader.load(state),
  };
  const { metrics } = await tinyTrainer({ train: slow, hooks: [throughput({ window: 2 })] }).fit();
  expect(metrics["perf/dataWait"]).toBeGreaterThan(0.5);
  expect(metrics["perf/stepsPerSec"]).toBeLessThan(80);
  expect(metrics["perf/samplesPerSec"]).toBeCloseTo(4 * metrics["perf/stepsPerSec"]!);
  expect(metrics).not.toHaveProperty(["perf/tokensPerSec"]);
  expect(metrics).not.toHaveProperty(["perf/mfu"]);
  const fast = await tinyTrainer({ steps: 400, tokens: () => 7, hooks: [throughput({ window: 399 })] }).fit();
  expect(fast.metrics["perf/tokensPerSec"]).toBeCloseTo(7 * fast.metrics["perf/stepsPerSec"]!);
  expect(fast.metrics["perf/dataWait"]).toBeLessThan(0.5);
});

test("options are checked", () => {
  expect(() => throughput({ windwo: 5 } as ThroughputOptions)).toThrow(/Did you mean `window`\?/);
  expect(() => throughput({ peakFlops: 1 })).toThrow(/`peakFlops` needs `flopsPerSample`/);
});
