// ctx.rollback: the model and the optimizers go back, the run goes on.
import type { Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { adamw } from "hookline/optim";
import { recordTrace, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";

const base = (): TinyOptions => ({ store: memoryStore(), save: "sync", optimizer: adamw({ lr: 0.1 }), samples: 64 });
const saveAt = (...steps: number[]): Hook => ({
  name: "saveAt",
  onStepEnd: (ctx) => (steps.includes(ctx.step) ? ctx.requestSave() : undefined),
});
const rollbackAt = (step: number, to?: string): Hook => ({
  name: "rollsBack",
  onStepEnd: (ctx) => (ctx.step === step ? ctx.rollback(to, "it got worse") : undefined),
});
/** The weights after each step's boundary. */
const watching = (seen: Record<number, unknown>): Hook => ({
  name: "watching",
  onStepBegin: async (ctx) => void (seen[ctx.step - 1] = [await ctx.params.get("weight"), ctx.optimizers[0]!.updates]),
});

test("to the newest checkpoint: parameters and updates are those of then, step and data go on", async () => {
  const seen: Record<number, unknown> = {};
  const trace = recordTrace({ events: ["stepEnd", "beforeLoad", "afterLoad", "batchBegin"] });
  await using trainer = tinyTrainer({
    ...base(),
    steps: 8,
    hooks: [saveAt(1, 3), rollbackAt(5), watching(seen), trace],
  });
  const result = await trainer.fit();
  expect(seen[5]).toEqual(seen[3]);
  expect(seen[4]).not.toEqual(seen[3]);
  expect(result.steps).toBe(8);
  const order = trace.entries.map(({ event, fields }) => `${event} ${String(fields.step)}`);
  expect(order.slice(order.indexOf("stepEnd 5"))).toEqual([
    "stepEnd 5",
    "beforeLoad 5",
    "afterLoad 5",
    "batchBegin 6",
    "stepEnd 6",
    "batchBegin 7",
    "stepEnd 7",
    "batchBegin 8",
    "stepEnd 8",
  ]);
  expect(trace.entries.filter(({ event }) => event === "batchBegin").map(({ fields }) => fields.batchIdx)).toEqual([
    0, 1, 2, 3, 4, 5, 6, 7,
  ]);
});

test("to a named one, with a report", async () => {
  const seen: Record<number, unknown> = {};
  const reports: unknown[] = [];
  const watch: Hook = { name: "reports", onAfterLoad: ({ loaded }) => void reports.push(loaded) };
  const hooks = [saveAt(1, 3), rollbackAt(5, "step-000001"), watching(seen), watch];
  await using trainer = tinyTrainer({ ...base(), steps: 6, hooks });
  await trainer.fit();
  expect(seen[5]).toEqual(seen[1]);
  expect(reports).toMatchObject([{ from: "step-000001", why: "rollback", step: 1, restored: ["model", "optimizer"] }]);
});

test("a checkpoint of the same boundary comes after it, and an evaluation sees what training goes on with", async () => {
  const seen: Record<number, unknown> = {};
  const store = memoryStore();
  await using trainer = tinyTrainer({
    ...base(),
    store,
    steps: 6,
    hooks: [saveAt(3, 5), rollbackAt(5), watching(seen)],
  });
  await trainer.fit();
  const [three, five] = [
    await store.read("step-000003", "model.safetensors"),
    await store.read("step-000005", "model.safetensors"),
  ];
  expect(five).toEqual(three);
});

test("without a checkpoint the run stops, and says so", async () => {
  await using trainer = tinyTrainer({ ...base(), steps: 6, hooks: [rollbackAt(2)] });
  const { status, reason, steps, requestedBy } = await trainer.fit();
  expect({ status, reason, steps, requestedBy }).toEqual({
    status: "stopped",
    reason: "rollsBack asks for a rollback, but this run has no checkpoint yet (it got worse)",
    steps: 2,
    requestedBy: "rollsBack",
  });
});

test("after `maxRollbacks` of them the run stops", async () => {
  const always: Hook = { name: "always", onStepEnd: (ctx) => (ctx.step > 1 ? ctx.rollback() : undefined) };
  await using trainer = tinyTrainer({ ...base(), steps: 12, maxRollbacks: 2, hooks: [saveAt(1), always] });
  const { status, reason, steps } = await trainer.fit();
  expect([status, steps]).toEqual(["stopped", 4]);
  expect(reason).toBe("always asks for another rollback after 2, which is `maxRollbacks`");
});
