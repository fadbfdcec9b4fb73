// Hooks replace points inside the model in evaluation and predict, and never in training.
import type { Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { expect, test } from "vitest";
import { text, transformer } from "../support/probed.ts";

const zero: Hook = { name: "zero", probes: { match: "blocks.*.attn", replace: (x) => x.mul(0) } };

test("changes the evaluation, is in the audit, and leaves training alone", async () => {
  await using plain = transformer({ epochs: 2 });
  await using ablated = transformer({ epochs: 2, hooks: [zero] });
  const [a, b] = [await plain.fit(), await ablated.fit()];
  expect(b.metrics["val/loss"]).not.toBe(a.metrics["val/loss"]);
  expect(b.metrics["train/loss"]).toBe(a.metrics["train/loss"]);
  expect(await ablated.stateDict()).toEqual(await plain.stateDict());
  expect(a.interventions).toEqual([]);
  expect(b.interventions).toEqual(
    [4, 8].map((step, epoch) => ({
      who: "zero",
      event: "evalBegin",
      step,
      epoch,
      what: 'replace("blocks.*.attn") in val',
    })),
  );
});

test("gives what the model gives whose weights do that", async () => {
  await using trainer = transformer();
  const state = await trainer.stateDict();
  const names = Object.keys(state).filter((name) => name.includes("attn.out_proj"));
  expect(names).toHaveLength(4);
  const silent = Object.fromEntries(
    names.map((name) => [name, { ...state[name]!, data: state[name]!.data.map(() => 0) as Float32Array }]),
  );
  const loader = () => new DataLoader(text, { batchSize: 8 });
  trainer.hooks.add(zero);
  const replaced = [await trainer.evaluate(loader()), await trainer.predict(loader())];
  trainer.hooks.remove("zero");
  const whole = await trainer.evaluate(loader());
  await trainer.loadStateDict({ ...state, ...silent });
  expect([await trainer.evaluate(loader()), await trainer.predict(loader())]).toEqual(replaced);
  expect(whole).not.toEqual(replaced[0]);
});

test("follows cadence and loaders", async () => {
  const evals = { a: new DataLoader(text, { batchSize: 8 }), b: new DataLoader(text, { batchSize: 8 }) };
  await using trainer = transformer({ epochs: 2, eval: evals, hooks: [{ ...zero, loaders: ["b"], every: 8 }] });
  const { interventions, metrics } = await trainer.fit();
  expect(interventions.map(({ step, what }) => [step, what])).toEqual([[8, 'replace("blocks.*.attn") in b']]);
  expect(metrics["a/loss"]).not.toBe(metrics["b/loss"]);
});

test("is what the hook and others then see in evalBatchEnd", async () => {
  const seen: number[] = [];
  const look: Hook = {
    name: "look",
    probes: { match: ["blocks.0.attn", "blocks.0.attn.z"] },
    onEvalBatchEnd({ activations }) {
      seen.push(...activations.names.map((name) => activations.stats(name).norm));
    },
  };
  await using trainer = transformer({ hooks: [zero, look] });
  await trainer.fit();
  expect(seen).toHaveLength(4);
  expect(seen[0]).toBeGreaterThan(0);
  expect(seen[1]).toBe(0);
});

test("in training is an error with advice, and so is another shape", async () => {
  expect(() => transformer({ hooks: [{ ...zero, onStepEnd() {} }] })).toThrow(
    /works in evaluation and predict only, and listens to `stepEnd` in training. Put what it does there into a hook/,
  );
  await using trainer = transformer({ hooks: [{ name: "sum", probes: { match: "head", replace: (x) => x.sum() } }] });
  await expect(trainer.fit()).rejects.toThrow(
    "`replace` must return an array like the one at `head`, float32 [8, 6, 11]; got float32 []",
  );
});
