// What a step of a stack needs on the native engine: layer by layer, one more array of hidden states for each layer.
import { Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { mse } from "hookline/nn";
import { sgd } from "hookline/optim";
import { expect, test } from "vitest";
import { peakEngine } from "../../bench/lib/peak-engine.ts";
import { randomData } from "../support/random-data.ts";
import { vectorStack } from "../support/stacks.ts";

const [rows, features] = [2048, 16];
const HIDDEN = rows * features * 4;
const { floats } = randomData(3);
const [x, y] = [floats(rows, features), floats(rows, features)];

async function peak(count: number, layered: boolean, accumulate = 1): Promise<number> {
  const engine = peakEngine(1);
  const trainer = new Trainer({
    model: vectorStack(count, features),
    loss: mse(),
    optimizer: sgd({ lr: 0.01 }),
    train: new DataLoader({ x, y }, { batchSize: rows }),
    steps: 2,
    accumulate,
    layered,
    engine,
    signals: false,
  });
  await trainer.fit();
  const { peakBytes } = engine;
  await trainer.close();
  await engine.close();
  return peakBytes;
}

/** Parameters, gradients and new parameters of a layer are a few kilobytes here. */
const SMALL = 0.1 * HIDDEN;

test("memory grows by the hidden states of each layer, and by much more in one program", async () => {
  const growth = async (layered: boolean): Promise<number> => (await peak(10, layered)) - (await peak(4, layered));
  const layered = await growth(true);
  expect(layered).toBeGreaterThan(6 * HIDDEN - SMALL);
  expect(layered).toBeLessThan(6 * (HIDDEN + SMALL));
  expect(await growth(false)).toBeGreaterThan(2 * layered);
});

test("micro-batches need no more than one", async () => {
  expect((await peak(6, true, 3)) - (await peak(6, true))).toBeLessThan(6 * SMALL);
});

test("nothing of a step is left when it is over", async () => {
  const engine = peakEngine(1);
  const bytes: number[] = [];
  const trainer = new Trainer({
    model: vectorStack(3, features),
    loss: mse(),
    optimizer: sgd({ lr: 0.01 }),
    train: new DataLoader({ x, y }, { batchSize: rows / 4 }),
    eval: new DataLoader({ x, y }, { batchSize: rows }),
    epochs: 3,
    engine,
    signals: false,
    hooks: [
      // By every way through the step in turns.
      { name: "between", every: 2, onAfterForward: () => undefined },
      { name: "count", onEpochEnd: () => void bytes.push(engine.bytesInUse) },
    ],
  });
  await trainer.fit();
  expect(bytes).toHaveLength(3);
  expect(bytes[2]).toBe(bytes[1]);
  await trainer.close();
  await engine.close();
});
