// Batches that a hook has read keep their numbers; the others lend their memory to the next.
import { expect, it } from "vitest";
import { Trainer, type HostBatch, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";

const data = {
  x: { data: Float32Array.from({ length: 12 }, (_, i) => i), shape: [12, 1] },
  y: { data: Float32Array.from({ length: 12 }, (_, i) => 2 * i), shape: [12, 1] },
};

async function train(hooks: Hook[], options: object = {}): Promise<{ arrays: number; losses: number[] }> {
  const train = new DataLoader(data, { batchSize: 2, shuffle: true });
  const next = train.next.bind(train);
  const seen = new Set<unknown>();
  train.next = () => {
    const batch = next() as HostBatch | undefined;
    if (batch) seen.add(batch.x!.data);
    return batch;
  };
  const losses: number[] = [];
  const trainer = new Trainer({
    model: linear(1, 1),
    loss: mse(),
    optimizer: sgd({ lr: 1e-3 }),
    train,
    hooks,
    epochs: 2,
    signals: false,
    ...options,
  });
  trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
  await trainer.fit();
  await trainer.close();
  return { arrays: seen.size, losses };
}

it("is filled again where nobody looks, and never where a hook has it", async () => {
  const kept: HostBatch[] = [];
  const copies: number[][] = [];
  const keeper: Hook = {
    name: "keeper",
    onBatchEnd(ctx) {
      kept.push(ctx.batch);
      copies.push([...ctx.batch.x!.data]);
    },
  };
  const plain = await train([]);
  const watched = await train([keeper]);
  // The first batch is looked at before the epoch begins.
  expect(plain.arrays).toBeLessThanOrEqual(2);
  expect(watched.arrays).toBe(12);
  expect(watched.losses).toEqual(plain.losses);
  expect(kept.map((batch) => [...batch.x!.data])).toEqual(copies);
});

it("stays where micro-batches or a guard need it", async () => {
  const plain = await train([]);
  const whole = await train([], { accumulate: 2 });
  expect(whole.losses).toHaveLength(6);
  const guard: Hook = { name: "guard", needs: ["finite"], onStepEnd() {} };
  const guarded = await train([guard]);
  expect(guarded.losses).toEqual(plain.losses);
  expect(guarded.arrays).toBe(12);
});
