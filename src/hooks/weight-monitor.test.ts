import { expect, test } from "vitest";
import { watchBuffers } from "../../tests/support/live-buffers.ts";
import type { Hook } from "../core/hook.ts";
import { linear, relu, sequential } from "../nn/index.ts";
import { tinyTrainer } from "../testing/index.ts";
import { weightMonitor, type WeightMonitorOptions } from "./weight-monitor.ts";

const mlp = () => sequential(linear(3, 4), relu(), linear(4, 1));
type Row = { step: number; metrics: Record<string, number>; params: Record<string, number[]> };

/** What was logged under `weight/…`, with the parameters after every step. */
function witness(): { hook: Hook; rows: Row[] } {
  const rows: Row[] = [];
  const hook: Hook = {
    name: "witness",
    stage: "progress",
    onError: "throw",
    async onLog(ctx) {
      const metrics = Object.fromEntries(Object.entries(ctx.logged).filter(([key]) => key.startsWith("weight/")));
      const params: Record<string, number[]> = {};
      for (const param of ctx.params.names) params[param] = [...((await ctx.params.get(param)).data as Float32Array)];
      rows.push({ step: ctx.step, metrics, params });
    },
  };
  return { hook, rows };
}

async function run(options: WeightMonitorOptions, steps = 4): Promise<Row[]> {
  const { hook, rows } = witness();
  await tinyTrainer({ model: mlp(), steps, logEvery: 1, hooks: [weightMonitor(options), hook] }).fit();
  return rows;
}

const norm = (...all: number[][]): number => Math.hypot(...all.flat());
const minus = (a: readonly number[], b: readonly number[]): number[] => a.map((x, i) => x - b[i]!);

test("norms and update ratios of each parameter and of all, at its steps", async () => {
  const rows = await run({ every: 2 });
  expect(rows.filter(({ metrics }) => "weight/norm" in metrics).map(({ step }) => step)).toEqual([2, 4]);
  const { params: before } = rows[2]!;
  const { metrics, params } = rows[3]!;
  for (const param of ["0.weight", "0.bias", "2.weight", "2.bias"]) {
    expect(metrics[`weight/norm/${param}`]).toBeCloseTo(norm(params[param]!), 5);
    const ratio = norm(minus(params[param]!, before[param]!)) / norm(params[param]!);
    expect(metrics[`weight/update/${param}`]).toBeCloseTo(ratio, 4);
    expect(ratio).toBeGreaterThan(0);
  }
  const moved = Object.keys(params).map((param) => minus(params[param]!, before[param]!));
  expect(metrics["weight/norm"]).toBeCloseTo(norm(...Object.values(params)), 5);
  expect(metrics["weight/update"]).toBeCloseTo(norm(...moved) / norm(...Object.values(params)), 4);
});

test("filter, and either of the two alone", async () => {
  const keys = async (options: WeightMonitorOptions) =>
    Object.keys((await run({ every: 1, ...options }, 1))[0]!.metrics);
  expect(await keys({ filter: "2.weight", updateRatio: false })).toEqual(["weight/norm/2.weight", "weight/norm"]);
  expect(await keys({ filter: "2.*", norm: false })).toEqual([
    "weight/update/2.weight",
    "weight/update/2.bias",
    "weight/update",
  ]);
  await expect(run({ filter: "wieght" })).rejects.toThrow(/`filter` matches no parameter/);
});

test("a cadence that only a step's end can tell gives norms, and no ratio over an unknown number of steps", async () => {
  const rows = await run({ every: "8 samples" });
  const looks = rows.filter(({ metrics }) => Object.keys(metrics).length > 0);
  expect(looks.map(({ step }) => step)).toEqual([2, 4]);
  for (const { metrics } of looks) {
    expect(metrics).toHaveProperty(["weight/norm"]);
    expect(metrics).not.toHaveProperty(["weight/update"]);
  }
});

test("an epoch's cadence has both", async () => {
  const rows = await run({ every: "1 epoch" }, 6);
  expect(Object.keys(rows.find(({ step }) => step === 4)!.metrics)).toEqual(
    expect.arrayContaining(["weight/norm", "weight/update"]),
  );
});

test("the step stays one program, and the run the same bit for bit", async () => {
  const plain = tinyTrainer({ model: mlp() });
  const watched = tinyTrainer({ model: mlp(), hooks: [weightMonitor({ every: 1 })] });
  expect(watched.explainPlan()).toMatch(/^fused/);
  await plain.fit();
  await watched.fit();
  expect(await watched.stateDict()).toEqual(await plain.stateDict());
});

test("tfjs #457, #252: frees what it keeps, after a failure in the middle of a step too", async () => {
  const live = await watchBuffers();
  /** Buffers in use after a run and before its trainer is closed. */
  const held = async (hooks: Hook[]): Promise<number> => {
    const trainer = tinyTrainer({ model: mlp(), steps: 2, hooks });
    const before = live.count;
    await trainer.fit().catch(() => undefined);
    const after = live.count;
    await trainer.close();
    return after - before;
  };
  const broken: Hook = {
    name: "broken",
    onBatchEnd() {
      throw new Error("broken");
    },
  };
  for (const others of [[], [broken]]) {
    // Twice: what a compiled program keeps is made in the first run.
    await held([weightMonitor({ every: 1 }), ...others]);
    expect(await held([weightMonitor({ every: 1 }), ...others])).toBe(await held(others));
  }
});

test("parameters that are NaN show as NaN, and zeros have no ratio", async () => {
  const set = (value: number): Hook => ({
    name: "set",
    onStepEnd: (ctx) =>
      ctx.setParams({
        weight: { data: new Float32Array(3).fill(value), shape: [1, 3] },
        bias: { data: Float32Array.of(value), shape: [1] },
      }),
  });
  const metrics = async (value: number) =>
    (await tinyTrainer({ steps: 1, hooks: [weightMonitor({ every: 1 }), set(value)] }).fit()).metrics;
  expect(await metrics(NaN)).toMatchObject({ "weight/norm": NaN, "weight/norm/bias": NaN });
  const zeros = await metrics(0);
  expect(zeros).toMatchObject({ "weight/norm": 0 });
  expect(zeros).not.toHaveProperty(["weight/update"]);
});
