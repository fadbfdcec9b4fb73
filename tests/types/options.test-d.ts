// Options: a misspelled or mistyped one is a compile error, before it is one at run time.
import { Trainer, type RunResult, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import { expectTypeOf, test } from "vitest";

const train = new DataLoader({ x: new Float32Array(4), y: new Float32Array(4) }, { batchSize: 2, shuffle: true });
const model = linear(1, 1);
const base = { model, loss: mse(), optimizer: adamw({ lr: 1e-3 }), train, epochs: 1 } satisfies TrainerOptions;

test("Trainer", () => {
  const trainer = new Trainer({ ...base, evalEvery: "1 epoch", logEvery: { every: 10, atEnd: true }, clipNorm: 1 });
  expectTypeOf(trainer.fit()).resolves.toEqualTypeOf<RunResult>();
  // @ts-expect-error -- misspelled
  void new Trainer({ ...base, epoch: 1 });
  // @ts-expect-error -- a number
  void new Trainer({ ...base, clipNorm: "1" });
  // @ts-expect-error -- no such engine
  void new Trainer({ ...base, engine: "cuda" });
  // @ts-expect-error -- no optimizer
  void new Trainer({ model, loss: mse(), train, epochs: 1 });
  // @ts-expect-error -- a hook has a name
  void new Trainer({ ...base, hooks: [{ onStepEnd() {} }] });
  // @ts-expect-error -- no such cadence
  void new Trainer({ ...base, evalEvery: { evry: 3 } });
  // @ts-expect-error -- a setting of the trainer, not of a call
  void trainer.fit({ accumulate: 2 });
});

test("adamw", () => {
  adamw({ lr: 1e-3, weightDecay: 0.01, betas: [0.9, 0.99], groups: [{ params: "bias", weightDecay: 0 }] });
  // @ts-expect-error -- lr
  adamw({ learningRate: 1e-3 });
  // @ts-expect-error -- two of them
  adamw({ betas: 0.9 });
  // @ts-expect-error -- weightDecay
  adamw({ groups: [{ params: "bias", decay: 0 }] });
});

test("cosine", () => {
  cosine({ warmup: "5%" });
  // @ts-expect-error -- warmup
  cosine({ warmUp: "5%" });
});

test("DataLoader", () => {
  const data = { x: new Float32Array(4) };
  // @ts-expect-error -- batchSize
  void new DataLoader(data, { batch_size: 2 });
  // @ts-expect-error -- true or false
  void new DataLoader(data, { batchSize: 2, shuffle: "yes" });
  // @ts-expect-error -- numbers go in as typed arrays
  void new DataLoader({ x: "text" }, { batchSize: 2 });
});

test("linear", () => {
  linear(2, 3, { bias: false });
  // @ts-expect-error -- bias
  linear(2, 3, { biases: false });
  // @ts-expect-error -- two sizes
  linear(2);
});
