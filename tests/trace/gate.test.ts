// A hook with a cadence costs a step its plan only when the hook is due in that step.
import { Trainer, type Cadence, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";

async function plans(hook: Hook, options: TinyOptions = {}) {
  const kinds: string[] = [];
  const calls: number[] = [];
  await using trainer = tinyTrainer({ samples: 24, ...options });
  const counted = Object.fromEntries(
    Object.entries(hook).map(([key, value]) => [
      key,
      typeof value === "function" ? (ctx: { step: number }) => void calls.push(ctx.step) : value,
    ]),
  ) as unknown as Hook;
  trainer.hooks.add(counted);
  trainer.on("stepBegin", () => void kinds.push(trainer.explainPlan().split(":")[0]!));
  await trainer.fit();
  return { kinds, calls };
}

test("every 3 steps at the gradients: the other steps are fused", async () => {
  const { kinds, calls } = await plans({ name: "g", every: 3, onBeforeOptimizerStep: () => undefined });
  expect(kinds).toEqual(["fused", "fused", "split", "fused", "fused", "split"]);
  expect(calls).toEqual([3, 6]);
});

test("trainer.on with a cadence is such a hook", async () => {
  const seen: number[] = [];
  await using trainer = tinyTrainer({ samples: 24 });
  trainer.on("afterBackward", { at: ["2 steps", "5 steps"] }, (ctx) => void seen.push(ctx.step));
  await trainer.fit();
  expect(seen).toEqual([2, 5]);
});

test.each<[string, Cadence, number[]]>([
  ["a bare number counts batches", 3, [3, 6]],
  ["a bare number with `until`", { every: 2, until: 4 }, [2, 4]],
  ["batches", "4 batches", [4]],
  ["steps", "3 steps", [3, 6]],
  ["a fraction of the epoch", "0.5 epochs", [3, 6]],
  ["time that has not passed", "1 h", []],
])("at afterBackward, %s: only due steps are split", async (_, every, due) => {
  const { kinds, calls } = await plans({ name: "g", every, onAfterBackward: () => undefined });
  expect(kinds).toEqual([1, 2, 3, 4, 5, 6].map((step) => (due.includes(step) ? "split" : "fused")));
  expect(calls).toEqual(due);
});

test("units that only the step will tell keep the plan", async () => {
  const { kinds, calls } = await plans({ name: "g", every: "8 samples", onAfterBackward: () => undefined });
  expect(kinds).toEqual(["split", "split", "split", "split", "split", "split"]);
  expect(calls).toEqual([2, 4, 6]);
});

test("a share of the run at the gradients: the plan can be asked for before the run", async () => {
  const hook: Hook = { name: "g", every: "50%", onBeforeOptimizerStep: () => undefined };
  const { kinds, calls } = await plans(hook);
  expect(kinds).toEqual(["fused", "fused", "split", "fused", "fused", "split"]);
  expect(calls).toEqual([3, 6]);
  expect(tinyTrainer({ hooks: [hook] }).explainPlan()).toMatch(/^fused/);
});

test("a share of a run whose length nobody has told yet keeps the plan, and an evaluation needs none", async () => {
  const { epochs: _epochs, ...options } = tinyTrainer().options;
  const hook: Hook = { name: "g", every: "50%", onBeforeOptimizerStep: () => undefined };
  await using trainer = new Trainer({ ...options, hooks: [hook] });
  expect(trainer.explainPlan()).toMatch(/^split/);
  const results = await trainer.evaluate(new DataLoader(tinyData(4), { batchSize: 4 }));
  expect(results["test/loss"]).toBeGreaterThan(0);
  expect((await trainer.fit({ epochs: 1 })).status).toBe("completed");
});

test("needs come and go with the cadence", async () => {
  const norms: (number | undefined)[] = [];
  const watch: Hook = { name: "n", every: 2, needs: ["gradNorm"], onStepEnd: (ctx) => void norms.push(ctx.gradNorm) };
  await using trainer = tinyTrainer({ samples: 24, hooks: [watch] });
  await trainer.fit();
  expect(norms).toHaveLength(3);
  expect(norms.every((norm) => norm! > 0)).toBe(true);
});

test("several cadences must all be due; run events always pass", async () => {
  const events: string[] = [];
  const hook: Hook = {
    name: "h",
    every: [2, { from: 4 }],
    onTrainBegin: () => void events.push("begin"),
    onStepEnd: (ctx) => void events.push(String(ctx.step)),
    onTrainEnd: () => void events.push("end"),
    onClose: () => void events.push("close"),
  };
  await using trainer = tinyTrainer({ samples: 28, hooks: [hook] });
  await trainer.fit();
  expect(events).toEqual(["begin", "4", "6", "end", "close"]);
});

test("atEnd makes good the last occasion, before the hook's own trainEnd", async () => {
  const events: string[] = [];
  const hook: Hook = {
    name: "h",
    every: { every: 4, atEnd: true },
    onStepEnd: (ctx) => void events.push(`${ctx.step} ${ctx.loss > 0}`),
    onTrainEnd: () => void events.push("end"),
  };
  await using trainer = tinyTrainer({
    samples: 24,
    hooks: [hook],
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
  });
  await trainer.fit();
  expect(events).toEqual(["4 true", "6 true", "end"]);
});

test("a mistake in the cadence is an error at registration that names the hook", () => {
  expect(() => tinyTrainer({ hooks: [{ name: "h", every: "3 stpes" }] })).toThrow(
    /Hook `h`: every.*Did you mean `steps`/,
  );
});

test("epochs on evaluations: the one at the end of an epoch sees that epoch", async () => {
  const seen: number[] = [];
  const hook: Hook = { name: "h", every: "2 epochs", onEvalEnd: (ctx) => void seen.push(ctx.epoch) };
  const val = new DataLoader(tinyData(4), { batchSize: 4 });
  await using trainer = tinyTrainer({ epochs: 6, hooks: [hook], eval: val });
  await trainer.fit();
  expect(seen).toEqual([1, 3, 5]);
});
