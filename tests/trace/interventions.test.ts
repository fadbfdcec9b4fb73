// What each verb does to the run, in numbers; and that the audit says so.
import {
  earlyStopping,
  ema,
  Trainer,
  type Hook,
  type HostTensors,
  type Intervention,
  type TrainerOptions,
} from "hookline";
import { DataLoader } from "hookline/data";
import { l1, linear, mse } from "hookline/nn";
import { exponential, sgd } from "hookline/optim";
import { testEngine, tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";

const data = tinyData(16);
const loader = () => new DataLoader(data, { batchSize: 4 });

async function train(hooks: Hook[], options: Partial<TrainerOptions> = {}) {
  const losses: number[] = [];
  const rates: number[] = [];
  const watch: Hook = {
    name: "watch",
    onStepEnd(ctx) {
      losses.push(ctx.loss);
      rates.push(ctx.lr);
    },
  };
  await using trainer = tinyTrainer({ train: loader(), ...options, hooks: [...hooks, watch] });
  const result = await trainer.fit();
  const params = await trainer.stateDict();
  return { result, params, losses, rates, weights: [...params.weight!.data, ...params.bias!.data] };
}

const whats = ({ interventions }: { interventions: readonly Intervention[] }) => interventions.map(({ what }) => what);

test("replaceBatch trains on the other batch", async () => {
  const zero = { x: { data: new Float32Array(12), shape: [4, 3] }, y: { data: new Float32Array(4), shape: [4, 1] } };
  const replaced = await train([{ name: "r", onBatchBegin: (ctx) => ctx.replaceBatch(zero, "for the test") }]);
  const direct = await train([], {
    train: new DataLoader(
      { x: { data: new Float32Array(48), shape: [16, 3] }, y: { data: new Float32Array(16), shape: [16, 1] } },
      { batchSize: 4 },
    ),
  });
  expect(replaced.weights).toEqual(direct.weights);
  expect(replaced.result.interventions[0]).toEqual({
    who: "r",
    event: "batchBegin",
    step: 1,
    epoch: 0,
    what: "replaceBatch",
    why: "for the test",
  });
});

test("scaleLoss scales the gradient, not the loss that is shown", async () => {
  const scaled = await train([{ name: "s", onBeforeForward: (ctx) => ctx.scaleLoss(0.5) }]);
  const halfRate = await train([], { optimizer: sgd({ lr: 0.05 }) });
  expect(scaled.weights).toEqual(halfRate.weights);
  expect(scaled.losses).toEqual(halfRate.losses);
});

test("two hooks that scale the loss multiply", async () => {
  const twice = await train([
    { name: "a", onBatchBegin: (ctx) => ctx.scaleLoss(0.5) },
    { name: "b", onBeforeBackward: (ctx) => ctx.scaleLoss(0.5) },
  ]);
  expect(twice.weights).toEqual((await train([], { optimizer: sgd({ lr: 0.025 }) })).weights);
});

test("skip and scale before the backward pass see the loss of the forward pass", async () => {
  const seen: number[] = [];
  const { losses } = await train([{ name: "peek", onAfterForward: (ctx) => void seen.push(ctx.loss) }]);
  expect(seen).toEqual(losses);
});

test("setLoss changes the loss from the next forward pass on", async () => {
  const changed = await train([{ name: "s", onTrainBegin: (ctx) => ctx.setLoss(l1()) }]);
  expect(changed.weights).toEqual((await train([], { loss: l1() })).weights);
  const later = await train([{ name: "s", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.setLoss(l1())) }]);
  const plain = await train([]);
  expect(later.losses.slice(0, 2)).toEqual(plain.losses.slice(0, 2));
  expect(later.losses[2]).not.toBe(plain.losses[2]);
});

test("setLr is a factor on the schedule that stays", async () => {
  const schedule = exponential({ gamma: 0.5, interval: "step" });
  const { rates } = await train(
    [{ name: "s", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.setLr((lr) => lr * 10)) }],
    { schedule },
  );
  expect(rates.map((rate) => Number(rate.toFixed(6)))).toEqual([0.1, 0.05, 0.25, 0.125]);
});

test("groups' values can be assigned; each assignment is recorded", async () => {
  const optimizer = sgd({ lr: 0.1, momentum: 0.9, groups: [{ params: "bias", lr: 0.5 }] });
  const hook: Hook = {
    name: "tuner",
    onStepEnd(ctx) {
      if (ctx.step !== 1) return;
      const [bias, rest] = ctx.optimizers[0]!.groups;
      expect([bias!.lr, rest!.lr]).toEqual([0.5, 0.1]);
      bias!.lr = 0.01;
      rest!.weightDecay = 0.1;
      rest!.momentum = 0.5;
    },
  };
  const { result } = await train([hook], { optimizer });
  expect(whats(result)).toEqual([
    "optimizers[0].groups[0].lr = 0.01",
    "optimizers[0].groups[1].weightDecay = 0.1",
    "optimizers[0].groups[1].momentum = 0.5",
  ]);
});

test("setUpdate replaces the optimizer's step, in every plan", async () => {
  const sign: Hook = {
    name: "own",
    onTrainBegin: (ctx) =>
      ctx.setUpdate(function signDescent(params, grads, { lr }) {
        return Object.fromEntries(Object.entries(params).map(([name, p]) => [name, p.sub(grads[name]!.mul(lr.ref))]));
      }),
  };
  const plain = await train([]);
  const own = await train([sign], { optimizer: sgd({ lr: 0.1, momentum: 0.9 }) });
  expect(own.weights).toEqual(plain.weights);
  const split = await train([sign, { name: "look", onAfterBackward: () => undefined }], {
    optimizer: sgd({ lr: 0.1, momentum: 0.9 }),
  });
  expect(split.weights).toEqual(plain.weights);
  expect(whats(own.result)).toEqual(["setUpdate(signDescent)"]);
});

test("setUpdate that forgets a parameter is an error that names it", async () => {
  const forget: Hook = { name: "own", onTrainBegin: (ctx) => ctx.setUpdate(({ weight }) => ({ weight: weight! })) };
  await expect(train([forget])).rejects.toThrow(/`bias` \[1\] is missing/);
});

test("setTrainable freezes the rest, bit for bit", async () => {
  const initial = await (async () => {
    await using trainer = tinyTrainer();
    return trainer.stateDict();
  })();
  const frozen = await train([{ name: "f", onTrainBegin: (ctx) => ctx.setTrainable("weight") }]);
  expect(frozen.params.bias).toEqual(initial.bias);
  expect(frozen.params.weight).not.toEqual(initial.weight);
});

test("setAccumulate holds from the next step on", async () => {
  const sizes: number[] = [];
  const counter: Hook = {
    name: "c",
    onStepBegin: () => void sizes.push(0),
    onBatchBegin: () => void sizes[sizes.length - 1]!++,
  };
  await train([{ name: "a", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.setAccumulate(2)) }, counter]);
  expect(sizes).toEqual([1, 1, 2]);
});

test("swapParams holds for one evaluation", async () => {
  const zeros: HostTensors = {
    weight: { data: new Float32Array(3), shape: [1, 3] },
    bias: { data: new Float32Array(1), shape: [1] },
  };
  const options = { eval: loader(), evalEvery: "2 steps" };
  let first = true;
  const swap: Hook = {
    name: "swap",
    onEvalBegin(ctx) {
      if (first) ctx.swapParams(zeros);
      first = false;
    },
  };
  const swapped = await train([swap], options);
  const plain = await train([], options);
  const meanSquare = data.y.data.reduce((sum, y) => sum + y * y, 0) / 16;
  const [a, b] = swapped.result.history.map(({ metrics }) => metrics["val/loss"]!);
  expect(a).toBeCloseTo(meanSquare, 4);
  expect(b).toBe(plain.result.history[1]!.metrics["val/loss"]);
  expect(swapped.weights).toEqual(plain.weights);
});

test("a stop before the minimum is refused, recorded, and not latched", async () => {
  const eager: Hook = { name: "eager", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.stop("early")) };
  const { result } = await train([eager], { minSteps: 3 });
  expect(result).toMatchObject({ status: "completed", steps: 4 });
  expect(result.interventions).toMatchObject([{ what: "stop", why: "early", refused: "before minSteps (3)" }]);
  const stubborn: Hook = { name: "stubborn", onStepEnd: (ctx) => void (ctx.step >= 2 && ctx.stop("still")) };
  expect((await train([stubborn], { minSteps: 3 })).result).toMatchObject({
    status: "stopped",
    steps: 3,
    reason: "still",
    requestedBy: "stubborn",
  });
});

test("the first of several stops in a step is the one that counts", async () => {
  const stop = (name: string): Hook => ({ name, onStepEnd: (ctx) => ctx.stop(`${name} says so`) });
  expect((await train([stop("a"), stop("b")])).result).toMatchObject({
    steps: 1,
    requestedBy: "a",
    reason: "a says so",
  });
});

test("gradients can be read, scaled, clipped and mapped; the audit keeps it", async () => {
  const seen: Record<string, unknown> = {};
  const hook: Hook = {
    name: "g",
    async onBeforeOptimizerStep(ctx) {
      if (ctx.step !== 1) return;
      const { grads } = ctx;
      seen.names = grads.names;
      const norm = await grads.norm();
      const norms = await grads.norms();
      expect(Math.hypot(...Object.values(norms))).toBeCloseTo(norm, 4);
      const { weight } = await grads.stats({ filter: "weight", percentiles: [0, 50, 100], histogram: 2 });
      const values = [...(await grads.get("weight")).data].toSorted((a, b) => a - b);
      expect(weight!.percentiles).toEqual(values);
      expect(weight!.histogram!.counts.reduce((a, b) => a + b)).toBe(3);
      expect([weight!.min, weight!.max]).toEqual([values[0], values[2]]);
      await grads.scale(2);
      expect(await grads.norm()).toBeCloseTo(2 * norm, 3);
      expect(await grads.clip(1)).toBeCloseTo(2 * norm, 3);
      expect(await grads.norm()).toBeCloseTo(1, 4);
      await grads.map(function negate(g) {
        return g.neg();
      });
    },
  };
  const { result } = await train([hook]);
  expect(seen.names).toEqual(["weight", "bias"]);
  expect(whats(result)).toMatchObject([
    "grads.scale(2)",
    expect.stringMatching(/^grads\.scale\(0\.\d+\)$/),
    "grads.map(negate)",
  ]);
});

test("a loss model: any jax-js function of parameters and batch", async () => {
  const losses: number[] = [];
  await using trainer = new Trainer({
    model: {
      params: { w: { data: new Float32Array(3), shape: [3, 1] } },
      loss({ w }, { x, y }) {
        const error = x!.ref
          .reshape([-1, 3, 1])
          .mul(w!.reshape([1, 3, 1]))
          .sum(1)
          .sub(y!);
        return error.ref.mul(error).mean();
      },
    },
    optimizer: sgd({ lr: 0.1 }),
    train: loader(),
    epochs: 5,
    engine: testEngine(),
    signals: false,
    hooks: [{ name: "w", onEpochEnd: (ctx) => void losses.push(ctx.avgLoss) }],
  });
  await trainer.fit();
  expect(losses[4]).toBeLessThan(losses[0]! / 10);
});

test("models by hand train like the layers they copy", async () => {
  const own = linear(3, 1);
  expect((await train([], { model: { init: own.init, apply: own.apply }, loss: mse() })).weights).toEqual(
    (await train([])).weights,
  );
});

test("a best model that is restored is the one that had the best score, averaged or not", async () => {
  const val = new DataLoader(tinyData(16, 2), { batchSize: 16 });
  const hooks = [ema({ decay: 0.5 }), earlyStopping({ monitor: "val/loss", patience: 2, restoreBest: true })];
  await using trainer = tinyTrainer({ train: loader(), eval: val, epochs: 30, optimizer: sgd({ lr: 0.3 }), hooks });
  const { history } = await trainer.fit();
  const best = Math.min(...history.flatMap(({ metrics }) => metrics["val/loss"] ?? []));
  expect((await trainer.evaluate(val))["test/loss"]).toBe(best);
  const outputs = (await trainer.predict(val)) as { data: Float32Array };
  const { y } = tinyData(16, 2);
  const mse = outputs.data.reduce((sum, out, i) => sum + (out - y.data[i]!) ** 2, 0) / 16;
  expect(mse).toBeCloseTo(best, 5);
});

test("a loss that went NaN is shown, not hidden", async () => {
  const { result } = await train([], { optimizer: sgd({ lr: 1e30 }), epochs: 2 });
  expect(result.metrics["train/loss"]).toBeNaN();
});
