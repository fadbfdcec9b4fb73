// A stack that is trained layer by layer: the numbers of one program, the same bits by every plan, programs whose number does
// not grow with the depth.
import { gradientMonitor, OptionError, Trainer, type Hook, type HostArray, type TrainerOptions } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { accuracy, dropout, perplexity, sequential, linear, batchNorm, mse } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import { testEngine } from "hookline/testing";
import { expect, describe, test } from "vitest";
import { methodOf, type BuiltinEvent } from "../../src/core/events.ts";
import { failingEngine, recordingEngine } from "../support/engines.ts";
import { randomData } from "../support/random-data.ts";
import { CLASSES, droppingStack, FEATURES, gptStack, stackLoss, twoKinds, vectorStack } from "../support/stacks.ts";
import { transformerBlock } from "../support/transformer-block.ts";
import { bitsOf, byAnotherPlan } from "../support/to-rounding.ts";

const { floats, labels } = randomData(11);
const [rows, time] = [12, 6];
const x = { data: labels(rows * time, CLASSES), shape: [rows, time] };
/** The first rows have few labels that count, the last many. */
const vectors = { x: floats(20, 5), y: floats(20, 5) };
const masked = { data: x.data.map((id, i) => (i % time < Math.floor(i / time / 2) ? id : -100)), shape: [rows, time] };

type Options = Omit<TrainerOptions, "engine" | "train" | "loss" | "optimizer"> & Partial<TrainerOptions>;

const trainerOf = (options: Options): Trainer =>
  new Trainer({
    loss: stackLoss(),
    optimizer: sgd({ lr: 0.1, momentum: 0.9 }),
    train: new DataLoader({ x, y: x }, { batchSize: 4 }),
    engine: testEngine(),
    signals: false,
    steps: 3,
    seed: 5,
    ...options,
  });

/** Losses, metrics, and the parameters after some steps. */
async function train(options: Options) {
  const losses: number[] = [];
  await using trainer = trainerOf({
    ...options,
    hooks: [...(options.hooks ?? []), { name: "losses", onStepEnd: (ctx) => void losses.push(ctx.loss) }],
  });
  const { metrics } = await trainer.fit();
  return { losses, metrics, state: await trainer.stateDict() };
}

/** The gradients of the first step. */
async function gradients(options: Options): Promise<Record<string, HostArray>> {
  const grads: Record<string, HostArray> = {};
  const reader: Hook = {
    name: "reader",
    async onBeforeOptimizerStep(ctx) {
      for (const name of ctx.grads.names) grads[name] = await ctx.grads.get(name);
    },
  };
  await using trainer = trainerOf({ ...options, steps: 1, hooks: [reader] });
  await trainer.fit();
  return grads;
}

const close = (relative = 1e-5) => ({
  number: (a: number, b: number) => Math.abs(a - b) <= relative * (1 + Math.abs(b)),
  array: (a: ArrayLike<number>, b: ArrayLike<number>) => {
    const largest = Math.max(...Array.from(b, Math.abs));
    return Array.from(a, (value, i) => Math.abs(value - b[i]!) <= relative * (largest + 1e-2)).every(Boolean);
  },
});

/** The names of arrays that differ by more than rounding. */
const different = (a: Record<string, HostArray>, b: Record<string, HostArray>, relative = 1e-5): string[] => {
  expect(Object.keys(a)).toEqual(Object.keys(b));
  return Object.keys(a).filter((name) => !close(relative).array(a[name]!.data, b[name]!.data));
};

const cases: Record<string, () => Options> = {
  "a transformer": () => ({ model: gptStack(3), metrics: { accuracy: accuracy(), perplexity: perplexity() } }),
  "an embedding that is the last layer too": () => ({ model: gptStack(2, { tied: true }) }),
  "frozen lower layers": () => ({
    model: gptStack(4),
    optimizer: sgd({ lr: 0.1, params: ["layers.2", "layers.3.attn", "head"] }),
  }),
  "a frozen layer between": () => ({
    model: gptStack(3),
    optimizer: sgd({ lr: 0.1, params: ["layers.0.mlp", "layers.2"] }),
  }),
  "the head alone": () => ({ model: gptStack(2), optimizer: sgd({ lr: 0.1, params: "head" }) }),
  "the embedding alone": () => ({ model: gptStack(2), optimizer: sgd({ lr: 0.1, params: "embed" }) }),
  "two kinds of layers": () => ({ model: twoKinds(4) }),
  "micro-batches with unequal numbers of labels": () => ({
    model: gptStack(2),
    train: new DataLoader({ x, y: masked }, { batchSize: 2 }),
    accumulate: 3,
  }),
  "clipped gradients": () => ({ model: gptStack(2), clipNorm: 0.05 }),
  "gradients clipped twice": () => ({ model: gptStack(2), clipNorm: 0.05, clipValue: 0.01 }),
  "several groups": () => ({
    model: gptStack(3),
    optimizer: sgd({
      lr: 0.1,
      groups: [
        { params: ["layers.1", "embed"], lr: 0.01 },
        { params: "bias", weightDecay: 0.1 },
      ],
    }),
  }),
  vectors: () => ({
    model: vectorStack(3, 5),
    loss: mse(),
    train: new DataLoader(vectors, { batchSize: 5 }),
  }),
};

describe.each(Object.entries(cases))("%s", (_, options) => {
  test("layer by layer: the losses, gradients and parameters of one program", async () => {
    const evaluated = { eval: options().train ?? new DataLoader({ x, y: masked }, { batchSize: 5 }) };
    const [one, layered] = [
      await train({ ...options(), ...evaluated, layered: false }),
      await train({ ...options(), ...evaluated, layered: true }),
    ];
    expect(layered.losses.map((loss, i) => close().number(loss, one.losses[i]!))).toEqual(one.losses.map(() => true));
    expect(Object.keys(layered.metrics)).toEqual(Object.keys(one.metrics));
    for (const [name, value] of Object.entries(one.metrics))
      expect(layered.metrics[name], name).toSatisfy((got: number) => close().number(got, value));
    expect(different(layered.state, one.state)).toEqual([]);
  });
});

test("the gradients of one program", async () => {
  const options = { model: gptStack(3, { tied: true }) };
  const one = await gradients({ ...options, layered: false });
  expect(different(await gradients({ ...options, layered: true }), one)).toEqual([]);
});

const observe = (...events: BuiltinEvent[]): Hook => ({
  name: `observe ${events.join()}`,
  ...Object.fromEntries(events.map((event) => [methodOf(event), () => undefined])),
});
const plans: Record<string, Hook[]> = {
  "fused with outputs, norm and metrics": [{ name: "needs", needs: ["outputs", "gradNorm", "batchMetrics"] }],
  split: [observe("afterBackward", "gradientClip")],
  "forward first": [observe("afterForward")],
  "split now and then": [{ ...observe("afterBackward"), every: 2 }],
  guarded: [{ name: "guard", needs: ["finite"] }],
};

describe("every plan gives the same bits, with dropout", () => {
  const options = (): Options => ({
    model: gptStack(3, { tied: true, block: sequential(transformerBlock(FEATURES, 2), dropout(0.2)) }),
    optimizer: adamw({ lr: 1e-2 }),
    clipNorm: 0.5,
    layered: true,
  });
  const bits = async (hooks: Hook[]) => {
    const { losses, state } = await train({ ...options(), hooks });
    return [losses, Object.entries(state).map(([name, array]) => bitsOf(name, array))];
  };

  test.each(Object.entries(plans))("%s", async (_, hooks) => {
    expect(await bits(hooks)).toEqual(byAnotherPlan(await bits([])));
  });
});

test("a run that is resumed in the middle has the bits of one that is not", async () => {
  const options = (): Options => ({
    model: gptStack(2, { block: sequential(transformerBlock(FEATURES, 2), dropout(0.2)) }),
    optimizer: adamw({ lr: 1e-2 }),
    train: new DataLoader({ x, y: masked }, { batchSize: 2, shuffle: true }),
    accumulate: 2,
    layered: true,
  });
  const whole = await train({ ...options(), steps: 6 });
  const store = memoryStore();
  await train({
    ...options(),
    steps: 3,
    store,
    hooks: [{ name: "save", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) }],
  });
  await using trainer = trainerOf({ ...options(), steps: 6, store });
  await trainer.fit({ resume: "auto" });
  expect(await trainer.stateDict()).toEqual(whole.state);
});

test("a layer that is computed again drops what it dropped before", async () => {
  const features = 64;
  const loss: { value?: number } = {};
  const options: Options = {
    model: droppingStack(4, dropout(0.3)),
    loss: (outputs) => (outputs as import("hookline").Tensor).mean(),
    train: new DataLoader({ x: floats(8, features), y: floats(8, 1) }, { batchSize: 8 }),
    layered: true,
  };
  await using trainer = trainerOf({ ...options, steps: 1 });
  trainer.on("afterBackward", async (ctx) => {
    loss.value = ctx.loss;
    // The mean is linear in each weight, which is 1.
    for (const name of ctx.grads.names) {
      const [grad] = (await ctx.grads.get(name)).data;
      expect(grad, name).toBeCloseTo(ctx.loss, 5);
    }
  });
  await trainer.fit();
  expect(Math.abs(loss.value!)).toBeGreaterThan(1e-4);
});

test("predictions are those of one program", async () => {
  const predictions: HostArray[] = [];
  for (const layered of [false, true]) {
    await using trainer = trainerOf({ model: gptStack(2), layered });
    predictions.push((await trainer.predict(new DataLoader({ x }, { batchSize: 5 }))) as HostArray);
  }
  const [one, layered] = predictions;
  expect(layered!.shape).toEqual(one!.shape);
  expect(close().array(layered!.data, one!.data)).toBe(true);
});

test("gradientMonitor measures the same norms", async () => {
  const norms = [];
  for (const layered of [false, true]) {
    const logged: Record<string, number> = {};
    const log: Hook = { name: "log", stage: "progress", onLog: (ctx) => void Object.assign(logged, ctx.logged) };
    await train({ model: gptStack(2), layered, logEvery: 1, hooks: [gradientMonitor({ every: 1 }), log] });
    norms.push(Object.entries(logged).filter(([name]) => name.startsWith("grad/")));
  }
  const [one, layered] = norms;
  expect(one!.length).toBeGreaterThan(10);
  expect(layered!.map(([name]) => name)).toEqual(one!.map(([name]) => name));
  for (const [i, [name, norm]] of one!.entries())
    expect(Math.abs(layered![i]![1] - norm), name).toBeLessThan(1e-5 * (1 + norm));
});

describe("the programs of a run", () => {
  const programs = async (depth: number, options: Partial<Options>) => {
    const { engine, programs } = await recordingEngine();
    await train({
      model: gptStack(depth),
      eval: new DataLoader({ x, y: x }, { batchSize: 4 }),
      ...options,
      engine,
      layered: true,
    });
    await engine.close();
    return programs.length;
  };
  test.each([
    ["fused", {}],
    ["clipped", { clipNorm: 1, clipValue: 0.1 }],
    ["accumulated", { accumulate: 2 }],
    ["forward first", { hooks: [observe("afterForward")] }],
  ] satisfies [string, Partial<Options>][])("%s: their number does not grow with the depth", async (_, options) => {
    const shallow = await programs(2, options);
    expect(shallow).toBeLessThan(20);
    expect(await programs(6, options)).toBe(shallow);
  });
});

test("a failure between the updates of two layers leaves no checkpoint of half a step", async () => {
  const store = memoryStore();
  const atEnd: Hook = { name: "atEnd", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) };
  // Per step: three layers backward, the embedding, four updates.
  const engine = await failingEngine(8 + 6);
  const warnings: string[] = [];
  const trainer = trainerOf({
    model: gptStack(3),
    layered: true,
    store,
    engine,
    hooks: [atEnd],
    warn: (w) => void warnings.push(w),
  });
  await expect(trainer.fit()).rejects.toThrow("the device is gone");
  expect(warnings.join()).toContain("there is no emergency checkpoint of step 1");
  expect(await store.list()).toEqual([]);
  await trainer.close();
  await engine.close();
});

test("a failure in a backward pass loses nothing", async () => {
  const store = memoryStore();
  const atEnd: Hook = { name: "atEnd", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) };
  const engine = await failingEngine(8 + 2);
  const trainer = trainerOf({
    model: gptStack(3),
    layered: true,
    store,
    engine,
    hooks: [atEnd],
    warn: () => undefined,
  });
  await expect(trainer.fit()).rejects.toThrow("the device is gone");
  expect((await store.list()).map(({ step, reason }) => [step, reason])).toEqual([[1, "emergency"]]);
  await trainer.close();
  await engine.close();
});

describe("the option", () => {
  const explain = (options: Partial<Options>): string => trainerOf({ model: gptStack(2), ...options }).explainPlan();

  test("auto is layer by layer for a stack, and one program for other models", () => {
    expect(explain({})).toMatch(
      /^fused: loss and gradients layer by layer[^]*because the model is a stack of 2 layers$/,
    );
    expect(explain({ layered: false })).toMatch(/^fused: one program[^]*because `layered` is false$/);
    expect(explain({ model: sequential(linear(2, 2)) })).not.toContain("layer by layer");
    expect(explain({ hooks: [observe("afterForward")] })).toMatch(/^forwardFirst: the forward pass layer by layer/);
  });

  test("a model that cannot be computed layer by layer", () => {
    const buffers = { ...gptStack(2), initState: () => ({}) };
    expect(explain({ model: buffers })).toMatch(/one program for all layers, because the model has buffers/);
    expect(() => trainerOf({ model: buffers, layered: true })).toThrow(OptionError);
    expect(() => trainerOf({ model: buffers, layered: true })).toThrow(/`layered: true` is not possible: .* buffers/);
    expect(() => trainerOf({ model: sequential(linear(2, 2)), layered: true })).toThrow(
      /needs a model that is a stack/,
    );
    expect(() => trainerOf({ model: gptStack(2), layered: "yes" as never })).toThrow(/layered/);
    expect(() => trainerOf({ model: sequential(batchNorm(2)), layered: false })).not.toThrow();
  });
});
