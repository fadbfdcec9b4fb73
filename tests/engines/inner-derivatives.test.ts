// Losses that take derivatives themselves: a gradient penalty, a physics-informed loss, an inner training step. Their
// gradients are those of finite differences of the same loss, written out in double precision.
import { grad, numpy as np } from "@jax-js/jax";
import { Trainer, type LossModel, type Tensor, type TensorBatch, type Tensors } from "hookline";
import { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import { describe, expect, test } from "vitest";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";

type Numbers = readonly number[];
type Params = Readonly<Record<string, Numbers>>;

interface Case {
  readonly params: Params;
  readonly loss: LossModel["loss"];
  /** The same loss by hand, with every inner derivative as a formula. */
  readonly byHand: (params: Params, x: Numbers, y: Numbers) => number;
}

const xs = [-1.2, -0.5, 0.1, 0.7, 1.3];
const ys = [0.3, -0.2, 0.5, 0.9, -0.4];
const mean = (list: Numbers): number => list.reduce((a, b) => a + b, 0) / list.length;
const total = (n: number, term: (i: number) => number): number =>
  Array.from({ length: n }, (_, i) => term(i)).reduce((a, b) => a + b, 0);

/** A net of one input, three hidden units and one output: Σ vⱼ tanh(wⱼ x + bⱼ). */
const net = ({ w, b, v }: Tensors, x: Tensor): Tensor => np.tanh(np.outer(x, w!.ref).add(b!.ref)).mul(v!.ref).sum(1);
const hidden: Params = { w: [0.8, -1.1, 0.4], b: [0.1, 0.3, -0.2], v: [0.5, 0.7, -0.9] };
const unit = ({ w, b }: Params, j: number, x: number): number => Math.tanh(w![j]! * x + b![j]!);
const value = (p: Params, x: number): number => total(3, (j) => p.v![j]! * unit(p, j, x));
const slope = (p: Params, x: number): number => total(3, (j) => p.v![j]! * p.w![j]! * (1 - unit(p, j, x) ** 2));
const bend = (p: Params, x: number): number =>
  total(3, (j) => p.v![j]! * p.w![j]! ** 2 * -2 * unit(p, j, x) * (1 - unit(p, j, x) ** 2));

const CASES: Record<string, Case> = {
  "a gradient penalty": {
    params: hidden,
    loss(params: Tensors, { x, y }: TensorBatch) {
      const slopes = grad((at: Tensor) => net(params, at).sum())(x!.ref);
      const penalty = np.square(slopes.sub(1)).mean();
      const outputs = net(params, x!);
      return [np.square(outputs.ref.sub(y!)).mean().add(penalty.mul(0.5)), outputs];
    },
    byHand: (p, x, y) =>
      mean(x.map((at, i) => (value(p, at) - y[i]!) ** 2)) + 0.5 * mean(x.map((at) => (slope(p, at) - 1) ** 2)),
  },
  "a physics-informed loss: u″ + u = 0": {
    params: hidden,
    loss(params: Tensors, { x, y }: TensorBatch) {
      const first = (at: Tensor): Tensor => grad((inner: Tensor) => net(params, inner).sum())(at);
      const second = grad((at: Tensor) => first(at).sum())(x!.ref);
      const residual = np.square(second.add(net(params, x!.ref))).mean();
      return residual.add(np.square(net(params, x!).sub(y!)).mean());
    },
    byHand: (p, x, y) =>
      mean(x.map((at) => (bend(p, at) + value(p, at)) ** 2)) + mean(x.map((at, i) => (value(p, at) - y[i]!) ** 2)),
  },
  "an inner training step, as in MAML": {
    params: { a: [0.6], c: [-0.3] },
    loss({ a, c }: Tensors, { x, y }: TensorBatch) {
      const line = (p: Tensors, at: Tensor): Tensor => at.mul(p.a!.ref).add(p.c!.ref);
      const support = (p: Tensors): Tensor => np.square(line(p, x!.ref).sub(y!.ref)).mean();
      const step = (grad(support as never) as unknown as (p: Tensors) => Tensors)({ a: a!.ref, c: c!.ref });
      const adapted = { a: a!.ref.sub(step.a!.mul(0.1)), c: c!.ref.sub(step.c!.mul(0.1)) };
      // The query set is the same points, moved.
      return np.square(line(adapted, x!.ref.add(0.5)).sub(y!.mul(2))).mean();
    },
    byHand(params, x, y) {
      const [a, c] = [params.a![0]!, params.c![0]!];
      const errors = x.map((at, i) => a * at + c - y[i]!);
      const next = a - 0.1 * mean(errors.map((e, i) => 2 * e * x[i]!));
      const shift = c - 0.1 * mean(errors.map((e) => 2 * e));
      return mean(x.map((at, i) => (next * (at + 0.5) + shift - 2 * y[i]!) ** 2));
    },
  },
};

/** The loss of one step, and its gradients: what plain SGD at rate 1 has subtracted. */
async function step({ params, loss }: Case, engine: "wasm" | NativeEngine) {
  const tensors = Object.fromEntries(
    Object.entries(params).map(([name, list]) => [name, { data: Float32Array.from(list), shape: [list.length] }]),
  );
  let seen = Number.NaN;
  const batch = { x: Float32Array.from(xs), y: Float32Array.from(ys) };
  await using trainer = new Trainer({
    model: { params: tensors, loss },
    optimizer: sgd({ lr: 1 }),
    train: new DataLoader(batch, { batchSize: xs.length }),
    steps: 1,
    engine,
    signals: false,
    hooks: [{ name: "loss", onStepEnd: (ctx) => void (seen = ctx.loss) }],
  });
  await trainer.fit();
  const after = await trainer.stateDict();
  const grads = Object.entries(params).map(([name, list]) => list.map((p, i) => p - after[name]!.data[i]!));
  return { loss: seen, grads: grads.flat() };
}

/** Central differences of the loss by hand. */
function differences({ params, byHand }: Case): number[] {
  const h = 1e-5;
  return Object.entries(params).flatMap(([name, list]) =>
    list.map((p, i) => {
      const at = (moved: number): number => byHand({ ...params, [name]: list.with(i, moved) }, xs, ys);
      return (at(p + h) - at(p - h)) / (2 * h);
    }),
  );
}

describe.each(["wasm", "native"] as const)("on %s", (name) => {
  test.each(Object.entries(CASES))("%s", async (_, each) => {
    const engine = name === "native" ? new NativeEngine({ threads: 2 }) : name;
    const got = await step(each, engine);
    if (typeof engine === "object") await engine.close();
    expect(got.loss).toBeCloseTo(each.byHand(each.params, xs, ys), 5);
    const expected = differences(each);
    expect(got.grads).toHaveLength(expected.length);
    for (const [i, g] of expected.entries()) expect(got.grads[i]).toBeCloseTo(g, 4);
  });
});
