// Averaged weights and batch norm: evaluations, results and files have statistics that fit the averaged weights.
import { earlyStopping, ema, swa, Trainer, type Hook, type HostTensors, type TrainerOptions } from "hookline";
import { decodeSafetensors, memoryStore, toHostArrays } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, crossEntropy, dropout, linear, relu, sequential } from "hookline/nn";
import { sgd } from "hookline/optim";
import { savedState, testEngine } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { randomData } from "../support/random-data.ts";

const { floats } = randomData(5);
const ROWS = 256;
/** Three classes, by the greatest of three noisy sums. */
function classes(rows: number) {
  const x = floats(rows, 8);
  const y = Int32Array.from({ length: rows }, (_, i) => {
    const sums = [0, 1, 2].map((k) => x.data[8 * i + k]! * 2 + x.data[8 * i + k + 3]! + 0.3 * x.data[8 * i + 6]!);
    return sums.indexOf(Math.max(...sums));
  });
  return { x, y };
}
const data = classes(ROWS);
const val = new DataLoader(classes(128), { batchSize: 64 });

const make = (options: Partial<TrainerOptions> = {}): Trainer =>
  new Trainer({
    model: sequential(linear(8, 16), batchNorm(16), relu(), linear(16, 16), batchNorm(16), relu(), linear(16, 3)),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 0.5, momentum: 0.9 }),
    train: new DataLoader(data, { batchSize: 32, shuffle: true }),
    epochs: 12,
    engine: testEngine(),
    signals: false,
    ...options,
  });

const lossOf = async (weights: HostTensors): Promise<number> => {
  await using trainer = make();
  await trainer.loadStateDict(weights);
  return (await trainer.evaluate(val, { name: "val" }))["val/loss"]!;
};

/** The same weights with statistics computed anew: passes over all training data in training mode, without updates. */
async function recomputed(from: HostTensors): Promise<HostTensors> {
  await using trainer = make({
    optimizer: sgd({ lr: 0 }),
    train: new DataLoader(data, { batchSize: ROWS }),
    epochs: 150,
  });
  await trainer.loadStateDict(from);
  await trainer.fit();
  const weights = await trainer.stateDict();
  return weights;
}

describe.each([
  ["ema", ema({ decay: 0.98, apply: "end" })],
  ["swa of epochs", swa({ from: "50%" })],
  ["swa of steps", swa({ from: "50%", every: 1 })],
] as const)("%s", (_, hook) => {
  test("the result has the loss of recomputed statistics", async () => {
    let last: HostTensors = {};
    const watch: Hook = {
      name: "watch",
      before: hook.name,
      async onTrainEnd(ctx) {
        const { params } = ctx;
        last = await params.snapshot(params.buffers).read();
      },
    };
    await using trainer = make({ hooks: [hook, watch] });
    await trainer.fit();
    const result = await trainer.stateDict();
    const left = await lossOf({ ...result, ...last });
    const right = await lossOf(await recomputed(result));
    const got = await lossOf(result);
    expect(Math.abs(got - right)).toBeLessThan(Math.abs(left - right) / 3);
  });
});

const evaluating = { eval: val, evalEvery: "1 epoch", epochs: 6 } as const;

test("an evaluation has the loss of the whole model in the average's file", async () => {
  const store = memoryStore();
  const save: Hook = { name: "save", onEpochEnd: (ctx) => ctx.requestSave() };
  await using trainer = make({ ...evaluating, store, save: "sync", hooks: [ema({ decay: 0.95 }), save] });
  const { metrics, steps } = await trainer.fit();
  const { files } = await store.load({ name: `step-${String(steps).padStart(6, "0")}` });
  const averaged = toHostArrays(decodeSafetensors(files["model-ema.safetensors"]!, "ema").tensors, "ema");
  const own = await trainer.stateDict();
  expect(averaged["1.running_var"]!.data).not.toEqual(own["1.running_var"]!.data);
  expect(averaged["1.num_batches_tracked"]!.data).toEqual(own["1.num_batches_tracked"]!.data);
  expect(await lossOf(averaged)).toBe(metrics["val/loss"]);
});

test("an average from a checkpoint without buffers takes the model's own and goes on", async () => {
  const hook = ema({ decay: 0.5, apply: "end" });
  await using before = make({ epochs: 1, hooks: [hook] });
  await before.fit();
  const { json, tensors } = await savedState(hook);
  const older = Object.fromEntries(Object.entries(tensors!).filter(([name]) => !/running_|num_batches/.test(name)));
  expect(Object.keys(older).length).toBeLessThan(Object.keys(tensors!).length);
  const next = ema({ decay: 0.5, apply: "end" });
  await next.load!({ json: { ...(json as object), version: 1 }, tensors: older }, 1);
  await using after = make({ ...evaluating, epochs: 1, hooks: [next] });
  await after.loadStateDict(await before.stateDict());
  const { metrics } = await after.fit();
  const result = await after.stateDict();
  expect(result["1.running_mean"]!.data.some((value) => value !== 0)).toBe(true);
  expect(await lossOf(result)).toBe(metrics["val/loss"]);
});

test("earlyStopping puts the statistics of the best step back with its parameters", async () => {
  const stop = earlyStopping({ monitor: "val/loss", patience: 100, restoreBest: "memory" });
  const losses: number[] = [];
  const watch: Hook = { name: "watch", onEvalEnd: (ctx) => void losses.push(ctx.evalMetrics["val/loss"]!) };
  await using trainer = make({ ...evaluating, optimizer: sgd({ lr: 2, momentum: 0.9 }), hooks: [stop, watch] });
  await trainer.fit();
  const best = Math.min(...losses);
  expect(losses.at(-1)).toBeGreaterThan(best);
  expect(await lossOf(await trainer.stateDict())).toBe(best);
});

const withDropout = () =>
  sequential(linear(8, 16), batchNorm(16), relu(), dropout(0.2), linear(16, 16), batchNorm(16), linear(16, 3));

/** Evaluates, and so recomputes, in the middle of epochs. */
const often = { eval: val, evalEvery: 3, epochs: 3, model: withDropout() } as const;

test("the training is the same, bit for bit, with and without recomputed statistics", async () => {
  await using plain = make(often);
  await plain.fit();
  await using averaged = make({ ...often, hooks: [ema({ decay: 0.9 })] });
  await averaged.fit();
  expect(await averaged.stateDict()).toEqual(await plain.stateDict());
});

test("a resumed run recomputes the same statistics", async () => {
  const run = async (store: ReturnType<typeof memoryStore>, resume?: string) => {
    const save: Hook = { name: "save", onStepEnd: (ctx) => void (ctx.step === 10 && ctx.requestSave()) };
    const hook = ema({ decay: 0.9, apply: "end" });
    await using trainer = make({ ...often, store, save: "sync", hooks: [hook, save] });
    const { metrics } = await trainer.fit(resume === undefined ? {} : { resume });
    return { metrics, weights: await trainer.stateDict(), state: (await savedState(hook)).tensors };
  };
  const store = memoryStore();
  const whole = await run(store);
  expect(await run(store, "step-000010")).toEqual(whole);
});

test("a stream is not read a second time: its statistics are averages", async () => {
  let passes = 0;
  const stream = () => {
    passes++;
    return Array.from({ length: ROWS }, (_, i) => ({
      x: data.x.data.slice(8 * i, 8 * i + 8),
      y: { data: Int32Array.of(data.y[i]!), shape: [] },
    }));
  };
  const hook = ema({ decay: 0.9, apply: "end" });
  let own: HostTensors = {};
  const watch: Hook = {
    name: "watch",
    before: "ema",
    onTrainEnd: async ({ params }) => void (own = await params.snapshot(params.buffers).read()),
  };
  await using trainer = make({ train: new DataLoader(stream, { batchSize: 32 }), epochs: 2, hooks: [hook, watch] });
  await trainer.fit();
  expect(passes).toBe(2);
  expect((await trainer.stateDict())["1.running_mean"]!.data).not.toEqual(own["1.running_mean"]!.data);
});

test("wrong numbers of batches are errors", async () => {
  const hook: Hook = {
    name: "recompute",
    onTrainEnd: async ({ params }) => void (await params.recomputeBuffers(params.snapshot(), 0)),
  };
  await using trainer = make({ epochs: 1, hooks: [hook] });
  await expect(trainer.fit()).rejects.toThrow("expected `batches` to be a whole number ≥ 1, got `0` (number)");
});
