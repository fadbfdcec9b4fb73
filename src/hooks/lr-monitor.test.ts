import { expect, test } from "vitest";
import type { Hook } from "../core/hook.ts";
import { adamw, sgd, step } from "../optim/index.ts";
import { tinyTrainer, type TinyOptions } from "../testing/index.ts";
import { lrMonitor, type LrMonitorOptions } from "./lr-monitor.ts";

/** The metrics that the monitor logged, by step; `lr` itself is in every log event anyway, so it is taken from ctx.metrics. */
async function logged(options: LrMonitorOptions, more: TinyOptions = {}): Promise<Record<number, object>> {
  const rows: Record<number, object> = {};
  let last = {};
  const note = (ctx: { step: number; metrics: Readonly<Record<string, number>> }): void => {
    const metrics = Object.fromEntries(Object.entries(ctx.metrics).filter(([key]) => !key.startsWith("train/")));
    if (JSON.stringify(metrics) !== JSON.stringify(last)) rows[ctx.step] = metrics;
    last = metrics;
  };
  const witness: Hook = { name: "witness", stage: "progress", onError: "throw", onStepEnd: note, onEpochEnd: note };
  await tinyTrainer({ ...more, hooks: [lrMonitor(options), ...(more.hooks ?? []), witness] }).fit();
  return rows;
}

test("one group: lr, at every step", async () => {
  const schedule = step({ every: 2, gamma: 0.5, interval: "step" });
  expect(await logged({}, { schedule })).toEqual({ 1: { lr: 0.1 }, 3: { lr: 0.05 } });
});

test("several groups and optimizers have their names", async () => {
  const head = { params: "bias", lr: 0.3, name: "head" };
  expect(await logged({}, { optimizer: sgd({ lr: 0.1, groups: [head] }) })).toEqual({
    1: { "lr/head": 0.3, "lr/default": 0.1 },
  });
  const optimizer = { a: sgd({ lr: 0.1, params: "weight" }), b: adamw({ lr: 0.2, params: "bias" }) };
  expect(await logged({}, { optimizer })).toEqual({ 1: { "lr/a": 0.1, "lr/b": 0.2 } });
});

test("momentum and weight decay, where there is some", async () => {
  const options = { momentum: true, weightDecay: true };
  const withBoth = sgd({ lr: 0.1, momentum: 0.9, weightDecay: 0.01 });
  expect(await logged(options, { optimizer: withBoth })).toEqual({ 1: { lr: 0.1, momentum: 0.9, weightDecay: 0.01 } });
  expect(await logged(options)).toEqual({ 1: { lr: 0.1, weightDecay: 0 } });
});

test("shows what a hook changed", async () => {
  const halve: Hook = { name: "halve", onStepBegin: (ctx) => ctx.setLr((lr) => lr / 2) };
  expect(await logged({}, { hooks: [halve], steps: 2 })).toEqual({ 1: { lr: 0.05 }, 2: { lr: 0.025 } });
});

test("a cadence in steps, and one in epochs at their ends", async () => {
  const halve: Hook = { name: "halve", onStepBegin: (ctx) => ctx.setLr((lr) => lr / 2) };
  const more = { hooks: [halve], epochs: 2 };
  expect(Object.keys(await logged({ every: 3 }, more))).toEqual(["3", "6"]);
  expect(Object.keys(await logged({ every: "1 epoch" }, more))).toEqual(["4", "8"]);
  expect(Object.keys(await logged({ every: { every: "2 epochs" } }, more))).toEqual(["8"]);
});

test("options are checked", () => {
  expect(() => lrMonitor({ logMomentum: true } as LrMonitorOptions)).toThrow(/unknown option `logMomentum`/);
});
