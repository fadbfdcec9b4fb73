// A loader that fails is closed all the same: it may have a stream or threads.
import { DataLoader, type Loader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";

/** Fails at its `at`-th batch, and counts how often it was closed. */
function failing(at: number): Loader & { readonly closed: () => number } {
  const data = new DataLoader(tinyData(8), { batchSize: 4 });
  let given = 0;
  let closed = 0;
  return {
    length: data.length,
    begin: (epoch, seed) => data.begin(epoch, seed),
    next() {
      if (++given === at) throw new Error("the stream broke");
      return data.next();
    },
    skip: () => data.skip(),
    state: () => data.state(),
    load: (state) => data.load(state),
    close: () => void closed++,
    closed: () => closed,
  };
}

test.each([1, 2])("in predict(), at batch %i", async (at) => {
  const loader = failing(at);
  await using trainer = tinyTrainer();
  await expect(trainer.predict(loader)).rejects.toThrow("the stream broke");
  expect(loader.closed()).toBe(1);
});

test("in predict(), when the model cannot take a batch", async () => {
  const bad = { x: { data: new Float32Array(8), shape: [4, 2] } };
  const loader = { ...failing(9), next: () => bad };
  await using trainer = tinyTrainer();
  await expect(trainer.predict(loader)).rejects.toThrow("The prediction failed");
  expect(loader.closed()).toBe(1);
});

test("in evaluate()", async () => {
  const loader = failing(2);
  await using trainer = tinyTrainer();
  await expect(trainer.evaluate(loader)).rejects.toThrow("the stream broke");
  expect(loader.closed()).toBe(1);
});

test("in probePoints(), which looks at a first batch", async () => {
  const loader = failing(1);
  await using trainer = tinyTrainer({ eval: loader });
  await expect(trainer.probePoints()).rejects.toThrow("the stream broke");
  expect(loader.closed()).toBe(1);
});
