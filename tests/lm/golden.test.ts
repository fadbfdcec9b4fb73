// Small random checkpoints give what transformers computes of them: logits, loss, every gradient, and greedy text.
import { describe, expect, test } from "vitest";
import { Trainer, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { loadModel } from "hookline/lm";
import { crossEntropy } from "hookline/nn";
import { sgd } from "hookline/optim";
import type { HostArray } from "../../src/core/arrays.ts";
import { ENGINES, type TestedEngine } from "./engines.ts";
import { GOLDEN, goldenFolder, readGolden, relativeError, type GoldenName } from "./golden-files.ts";
import { greedy, withEngine } from "./programs.ts";

const NEAR = 1e-4;

describe.each(ENGINES)("%s", (engine) => {
  test.each(GOLDEN)("%s: logits, loss and gradients", async (name) => {
    const golden = await readGolden(name);
    const { logits, loss, gradients } = await computed(name, engine);
    expect(relativeError(logits.data, golden.logits.data)).toBeLessThan(NEAR);
    expect(Math.abs(loss - golden.loss)).toBeLessThan(NEAR);
    expect([...gradients.keys()].sort()).toEqual([...golden.gradients.keys()].sort());
    for (const [parameter, expected] of golden.gradients)
      expect(relativeError(gradients.get(parameter)!.data, expected.data), parameter).toBeLessThan(NEAR);
  });

  test.each(GOLDEN)("%s: greedy text, with a cache and without", async (name) => {
    const { generated } = await readGolden(name);
    const model = await loadModel(goldenFolder(name));
    const [prompt, count] = [generated.slice(0, 10), generated.length - 10];
    await withEngine(engine, async (on) => {
      expect(await greedy(on, model, [prompt], count)).toEqual([generated]);
      if (engine === "native")
        expect(await greedy(on, model, [prompt], 12, { cached: false })).toEqual([generated.slice(0, 22)]);
    });
  });
});

async function computed(name: GoldenName, engine: TestedEngine) {
  const { ids, y } = await readGolden(name);
  const batchSize = ids.shape[0]!;
  const gradients = new Map<string, HostArray>();
  let loss = NaN;
  const read: Hook = {
    name: "read",
    async onAfterBackward(ctx) {
      for (const each of ctx.grads.names) gradients.set(each, await ctx.grads.get(each));
    },
    onStepEnd(ctx) {
      loss = ctx.loss;
    },
  };
  await using trainer = new Trainer({
    model: await loadModel(goldenFolder(name)),
    inputs: ({ x }) => ({ ids: x! }),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 0 }),
    train: new DataLoader({ x: ids, y }, { batchSize }),
    steps: 1,
    engine,
    signals: false,
    hooks: [read],
  });
  const logits = (await trainer.predict(new DataLoader({ x: ids }, { batchSize }))) as HostArray;
  await trainer.fit();
  return { logits, loss, gradients };
}
