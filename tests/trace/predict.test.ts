// The events of `predict`: in their order, with their fields, in a phase of their own.
import type { Hook, HostArray, Phase } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";

const loader = () => new DataLoader(tinyData(10, 3), { batchSize: 4 });

test("a prediction fires its events, with the outputs of each batch", async () => {
  const events: string[] = [];
  const seen: number[] = [];
  const phases = new Set<Phase>();
  const hook: Hook = {
    name: "h",
    // Nothing that a cadence counts moves here.
    every: 100,
    onInit: () => void events.push("init"),
    onPredictBegin: (ctx) => void events.push(`begin ${ctx.loaderName}`),
    onPredictBatchBegin: (ctx) => void events.push(`batch ${ctx.batchIdx} of ${ctx.batch.x!.shape[0]}`),
    onPredictBatchEnd(ctx) {
      phases.add(ctx.phase);
      seen.push(...Array.from((ctx.outputs as HostArray).data as Float32Array));
    },
    onPredictEnd: () => void events.push("end"),
    onClose: () => void events.push("close"),
  };
  await using trainer = tinyTrainer({ hooks: [hook] });
  const outputs = (await trainer.predict(loader())) as HostArray;
  expect(events).toEqual(["init", "begin predict", "batch 0 of 4", "batch 1 of 4", "batch 2 of 2", "end", "close"]);
  expect(seen).toEqual([...outputs.data]);
  expect([...phases]).toEqual(["predict"]);
});

test("hooks may put other parameters and batches in place for it", async () => {
  const zero: Hook = {
    name: "zero",
    async onPredictBegin(ctx) {
      const weight = await ctx.params.get("weight");
      const bias = await ctx.params.get("bias");
      ctx.swapParams({
        weight: { ...weight, data: new Float32Array(3) },
        bias: { ...bias, data: new Float32Array(1).fill(7) },
      });
    },
  };
  await using trainer = tinyTrainer({ hooks: [zero] });
  const outputs = (await trainer.predict(loader())) as HostArray;
  expect(new Set(outputs.data)).toEqual(new Set([7]));
  trainer.hooks.remove("zero");
  trainer.on("predictBatchBegin", (ctx) => ctx.replaceBatch({ x: { data: new Float32Array(3), shape: [1, 3] } }));
  expect(((await trainer.predict(loader())) as HostArray).shape).toEqual([3, 1]);
});

test("without collecting, nothing is returned; an empty loader is an error either way", async () => {
  await using trainer = tinyTrainer();
  expect(await trainer.predict(loader(), { collect: false })).toBeUndefined();
  const empty = {
    length: 0,
    begin() {},
    next: () => undefined,
    skip: () => false,
    state: () => ({ epoch: 0, batches: 0, samples: 0 }),
    load() {},
  };
  for (const collect of [true, false])
    await expect(trainer.predict(empty, { collect })).rejects.toThrow("predict: the loader has no batches.");
});
