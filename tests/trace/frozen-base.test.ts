// A model with a frozen base trains as the same model whose frozen part is among its parameters: by every plan, in
// evaluation, in predictions and for hooks. The base itself is the engine's alone.
import {
  ema,
  freeze,
  nanGuard,
  probe,
  swa,
  type Hook,
  type Model,
  Trainer,
  type TrainerOptions,
  weightMonitor,
} from "hookline";
import { DataLoader } from "hookline/data";
import { batchNorm, crossEntropy, linear, mse, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, test, vi } from "vitest";
import { selectEngine } from "../../src/engines/select.ts";
import { numpy as np } from "../../src/jax/index.ts";
import { asyncEngine } from "../support/engines.ts";
import { baseOfTensors, onBase } from "../support/frozen-base.ts";
import { localRanks } from "../support/local-ranks.ts";
import { randomData } from "../support/random-data.ts";

const { floats, labels } = randomData(5);
const data = { x: floats(24, 6), y: labels(24, 4) };
const mlp = (): Model => sequential(linear(6, 8), batchNorm(8), relu(), linear(8, 4));
/** The first layer. */
const isFrozen = (name: string): boolean => name.startsWith("0.");

const listening = (event: "onAfterForward" | "onAfterBackward"): Hook => ({ name: event, [event]() {} });
const plans: Record<string, () => Partial<TrainerOptions>> = {
  fused: () => ({}),
  clipped: () => ({ clipNorm: 0.1 }),
  guarded: () => ({ hooks: [nanGuard()] }),
  accumulated: () => ({ accumulate: 2 }),
  split: () => ({ hooks: [listening("onAfterBackward")] }),
  "forward first": () => ({ hooks: [listening("onAfterForward")] }),
  probed: () => ({ hooks: [probe({ match: "1" })] }),
  averaged: () => ({ hooks: [ema({ decay: 0.5 })] }),
  "averaged, with statistics recomputed": () => ({ hooks: [swa({ from: "1 epoch" })] }),
  "frozen further": () => ({ hooks: [freeze({ params: "3.*", until: "1 epoch" })] }),
};

async function run(model: Model<never>, { hooks = [], ...more }: Partial<TrainerOptions>) {
  const losses: number[] = [];
  const warnings: string[] = [];
  const note: Hook = { name: "note", onStepEnd: (ctx) => void losses.push(ctx.loss) };
  await using trainer = new Trainer({
    model,
    loss: crossEntropy(),
    optimizer: adamw({ lr: 0.05, params: (name) => !isFrozen(name) }),
    train: new DataLoader(data, { batchSize: 8, shuffle: true }),
    eval: new DataLoader(data, { batchSize: 10 }),
    epochs: 2,
    engine: await testedEngine(),
    signals: false,
    warn: (message) => void warnings.push(message),
    hooks: [note, ...hooks],
    ...more,
  });
  const { metrics } = await trainer.fit();
  const loader = new DataLoader({ x: data.x }, { batchSize: 9 });
  const predicted = await trainer.predict(loader);
  const { outputs } = await trainer.runWithProbes({ x: data.x });
  const points = await trainer.probePoints();
  const { names } = await trainer.params();
  const all = await trainer.stateDict();
  const weights = Object.fromEntries(Object.entries(all).filter(([name]) => !isFrozen(name)));
  return { seen: { losses, metrics, predicted, outputs, points, weights, warnings }, names, all: Object.keys(all) };
}

const testedEngine = () => selectEngine(testEngine());

describe.each(Object.entries(plans))("%s", (_, options) => {
  test("gives the numbers of the model that holds its frozen part", async () => {
    const whole = await run(mlp(), options());
    const based = await run(onBase(mlp(), isFrozen), options());
    expect(based.seen).toEqual(whole.seen);
    expect(based.names).toEqual(whole.names.filter((name) => !isFrozen(name)));
    expect(based.all).toEqual(whole.all.filter((name) => !isFrozen(name)));
  });
});

test("on an engine that must be awaited, too", async () => {
  const whole = await run(mlp(), { engine: await asyncEngine() });
  const based = await run(onBase(mlp(), isFrozen), { engine: await asyncEngine() });
  expect(based.seen).toEqual(whole.seen);
});

/** y = x·A·b with a frozen A of whole numbers and a trained b. */
function small(path?: string) {
  const base = baseOfTensors({ a: { data: Int32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] } }, path);
  return {
    base,
    init: () => ({ b: { data: Float32Array.of(0.1, 0.2), shape: [2, 1] } }),
    apply: ({ a, b }, x) => np.matmul(np.matmul(x, a!.astype(np.float32)), b!),
  } satisfies Model;
}

test("hooks and computations: params has the base for compute, and nowhere else", async () => {
  const logged: string[] = [];
  const spy: Hook = { name: "spy", stage: "logger", onLog: (ctx) => void logged.push(...Object.keys(ctx.logged)) };
  await using trainer = tinyTrainer({
    model: small(),
    optimizer: adamw({ lr: 0.01 }),
    logEvery: 1,
    hooks: [weightMonitor({ every: 1 }), spy],
  });
  await trainer.fit();
  const params = await trainer.params();
  expect([params.names, params.snapshot().names, Object.keys(await trainer.stateDict())]).toEqual([
    ["b"],
    ["b"],
    ["b"],
  ]);
  const sum = await params.compute(({ a, b }) => ({ a: a!.sum(), b: b!.sum() }));
  expect((await sum.get("a")).data).toEqual(Int32Array.of(21));
  expect(new Set(logged.filter((name) => name.startsWith("weight/")))).toEqual(
    new Set(["weight/norm/b", "weight/norm", "weight/update/b", "weight/update"]),
  );
  await expect(trainer.loadStateDict({ a: { data: new Float32Array(6), shape: [3, 2] } })).rejects.toThrow("has `a`");
  expect(trainer.summary()).toBe(
    "b  [2, 1]  2\n2 parameters in 1 tensors; besides, 6 frozen numbers in 1 tensors of models/base",
  );
});

test("it is read once when the engine starts, not at all to look at the trainer, and again after close()", async () => {
  const model = onBase(mlp(), isFrozen);
  const trainer = new Trainer({
    model,
    loss: crossEntropy(),
    optimizer: adamw({ lr: 0.05 }),
    train: new DataLoader(data, { batchSize: 8 }),
    epochs: 1,
    engine: testEngine(),
    signals: false,
  });
  await trainer.preflight();
  expect([trainer.summary().length > 0, model.base.reads]).toEqual([true, []]);
  await trainer.fit();
  await trainer.stateDict();
  expect(model.base.reads).toEqual(["0.weight", "0.bias"]);
  await trainer.close();
  await trainer.fit();
  expect(model.base.reads).toEqual(["0.weight", "0.bias", "0.weight", "0.bias"]);
  await trainer.close();
});

describe("nothing of it is left on an engine of one's own", () => {
  const watched = async () => {
    const engine = await selectEngine(testEngine());
    let held = 0;
    const { put, free } = engine;
    vi.spyOn(engine, "put").mockImplementation((host) => (held++, put.call(engine, host)));
    vi.spyOn(engine, "free").mockImplementation((buffer) => (held--, free.call(engine, buffer)));
    return { engine, held: () => held };
  };

  test("after close()", async () => {
    const { engine, held } = await watched();
    const trainer = tinyTrainer({ model: small(), engine });
    await trainer.stateDict();
    expect(held()).toBeGreaterThan(1);
    await trainer.close();
    expect(held()).toBe(0);
  });

  test.each([
    ["a tensor cannot be read", async () => Promise.reject(new Error("no such file")), "no such file"],
    [
      "a tensor is not what was listed",
      async () => ({ data: new Float32Array(6), shape: [3, 2] }),
      "The base models/base, tensor `z`: it was read as float32 [3, 2], but is listed as float32 [6].",
    ],
  ])("when %s; the next call tries again", async (_, read, message) => {
    const { engine, held } = await watched();
    const model = small();
    const tensors = new Map<string, typeof model.base.tensors extends ReadonlyMap<string, infer T> ? T : never>(
      model.base.tensors,
    );
    tensors.set("z", { shape: [6], dtype: "float32", read });
    const trainer = tinyTrainer({ model: { ...model, base: { ...model.base, tensors } }, engine });
    await expect(trainer.stateDict()).rejects.toThrow(message);
    expect(held()).toBe(0);
    tensors.delete("z");
    expect((await trainer.fit()).status).toBe("completed");
    await trainer.close();
  });
});

describe("refused at construction:", () => {
  test("a name that is trained and frozen", () => {
    const model = { ...small(), init: () => ({ a: { data: Float32Array.of(1), shape: [1] } }) };
    expect(() => tinyTrainer({ model })).toThrow(
      "`a` is both a parameter of the model's init and a tensor of its frozen base (models/base)",
    );
  });

  test("a base that is not one", () => {
    const model = { ...small(), base: { path: "x", tensors: {} } as never };
    expect(() => tinyTrainer({ model })).toThrow("Expected the model's `base` to be { path, digest, tensors }");
  });
});

test("ranks compare the digests of their bases, wherever these are", async () => {
  const fit = (models: readonly Model[]) => {
    const ranks = localRanks(2);
    const train = () => new DataLoader(tinyData(16), { batchSize: 4 });
    return Promise.allSettled(
      ranks.map(async (strategy, rank) => {
        await using trainer = tinyTrainer({
          strategy,
          model: models[rank]!,
          train: train(),
          loss: mse(),
          warn: () => {},
        });
        await trainer.fit();
        return trainer.stateDict();
      }),
    );
  };
  const [one, other] = await fit([small("/a/base"), small("/b/base")]);
  expect(one).toEqual(other);
  expect(one!.status).toBe("fulfilled");
  const changed = { ...small(), base: { ...small().base, digest: "f".repeat(64) } };
  const [failed] = await fit([small(), changed]);
  expect(String((failed as PromiseRejectedResult).reason)).toContain(
    `the model's frozen base, SHA-256: rank 1 has ${"f".repeat(64)}, rank 0 has ${small().base.digest}`,
  );
});
