// Deferred logits give the numbers of logits: losses, all gradients, metrics, predictions.
import { grad, jit, makeJaxpr, numpy as np, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { ints, maxError, noise, put, putAll, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { HostArray } from "../core/arrays.ts";
import type { Loss, Outputs, Tensor, TensorBatch, Tensors } from "../core/model.ts";
import * as nn from "./index.ts";

beforeAll(startWasm);

const [rows, features, classes] = [10, 8, 12];
const host = { hidden: noise([2, 5, features]), weight: noise([classes, features], 2), bias: noise([classes], 3) };
const labels = ints(
  Array.from({ length: rows }, (_, i) => (i === 3 ? -100 : (i * 5) % classes)),
  [2, 5],
);
const logitsNow = ({ hidden, weight, bias }: Tensors): Outputs => {
  const y = np.inner(hidden!, weight!);
  return bias ? y.add(bias) : y;
};
const deferred = ({ hidden, weight, bias }: Tensors): Outputs => nn.deferredLogits(hidden!, weight!, bias);

type Program = (params: Tensors, batch: TensorBatch) => Tensor;
const lossProgram =
  (loss: Loss, outputs: (params: Tensors) => Outputs): Program =>
  (params, { y, ...batch }) =>
    loss(outputs(params), y!, batch).mul(3);

/** The value and the gradient of every parameter, as a flat list each. */
function evaluated(program: Program, params: Record<string, HostArray>, batch: Record<string, HostArray>, jits = true) {
  const run = (p: Tensors, b: TensorBatch): Tensor[] => {
    const [value, grads] = (
      valueAndGrad as unknown as (fn: (p: Tensors) => Tensor) => (p: Tensors) => [Tensor, Tensors]
    )((given) => program(given, b))(p);
    return [value, ...Object.values(grads)];
  };
  return (jits ? (jit(run as never) as unknown as typeof run) : run)(putAll(params), putAll(batch)).map(read);
}

const classWeights = Array.from({ length: classes }, (_, i) => 0.5 + (i % 3));
const weight = noise([2], 4);
const weights = { data: weight.data.map(Math.abs), shape: [2] };

describe("crossEntropy of deferred logits", () => {
  const cases: [string, Loss, Loss, Record<string, HostArray>][] = [
    ["plain", nn.crossEntropy({ chunk: 4 }), nn.crossEntropy(), {}],
    ["one row at a time", nn.crossEntropy({ chunk: 1 }), nn.crossEntropy(), {}],
    ["all rows at once", nn.crossEntropy(), nn.crossEntropy(), {}],
    ["smoothed", nn.crossEntropy({ chunk: 3, labelSmoothing: 0.1 }), nn.crossEntropy({ labelSmoothing: 0.1 }), {}],
    ["with class weights", nn.crossEntropy({ chunk: 3, classWeights }), nn.crossEntropy({ classWeights }), {}],
    ["with weights of samples", nn.crossEntropy({ chunk: 3 }), nn.crossEntropy(), { weight: weights }],
    ["focal", nn.focal({ chunk: 3, gamma: 1.5, classWeights }), nn.focal({ gamma: 1.5, classWeights }), {}],
  ];
  it.each(cases)("%s", (_, chunked, plain, batch) => {
    const expected = evaluated(lossProgram(plain, logitsNow), host, { y: labels, ...batch });
    for (const jits of [true, false]) {
      const got = evaluated(lossProgram(chunked, deferred), host, { y: labels, ...batch }, jits);
      expect(got.map((list, i) => maxError(list, expected[i]!))).toEqual(expected.map(() => expect.toSatisfy(small)));
    }
  });

  it("without a bias, and with a weight that is held fixed", () => {
    const { hidden } = host;
    const fixed = (outputs: typeof deferred) => (params: Tensors) => outputs({ ...params, weight: put(host.weight) });
    const [chunked, plain] = [nn.crossEntropy({ chunk: 4 }), nn.crossEntropy()];
    const expected = evaluated(lossProgram(plain, fixed(logitsNow)), { hidden }, { y: labels });
    const got = evaluated(lossProgram(chunked, fixed(deferred)), { hidden }, { y: labels });
    expect(got).toHaveLength(2);
    for (const [i, list] of got.entries()) expect(maxError(list, expected[i]!)).toSatisfy(small);
  });

  it("can be differentiated twice", () => {
    const penalty = (program: Program) => (params: Tensors, batch: TensorBatch) => {
      const inner = grad(((p: Tensors) => program(p, batch)) as never) as unknown as (p: Tensors) => Tensors;
      return Object.values(inner(params)).reduce((sum, g) => sum.add(np.square(g).sum()), np.array(0));
    };
    const [chunked, plain] = [nn.crossEntropy({ chunk: 4 }), nn.crossEntropy()];
    // Not by jax-js's jit, which pads a literal wrongly.
    const expected = evaluated(penalty(lossProgram(plain, logitsNow)), host, { y: labels }, false);
    const got = evaluated(penalty(lossProgram(chunked, deferred)), host, { y: labels }, false);
    for (const [i, list] of got.entries()) expect(maxError(list, expected[i]!)).toSatisfy(small);
  });

  it("computes no gradient in an evaluation, and never all logits at once", () => {
    const program = lossProgram(nn.crossEntropy({ chunk: 4 }), deferred);
    const { jaxpr } = makeJaxpr(program as (...args: unknown[]) => Tensor)(putAll(host), { y: put(labels) });
    const text = String((jaxpr as unknown as { jaxpr: object }).jaxpr);
    expect(text.match(/= dot /g)).toHaveLength(3);
    expect(text).not.toMatch(/:float32\[(?:10|2,5),12\]/);
  });
});

/** Relative to the largest of the list. */
const small = (error: number): boolean => error < 1e-5;

describe("what else reads them", () => {
  const batch = () => ({ y: put(labels) });
  const outputs = (of: typeof deferred): Outputs => of(putAll(host));

  it.each([
    ["accuracy", nn.accuracy()],
    ["perplexity", nn.perplexity()],
    ["calibrationError", nn.calibrationError()],
  ])("%s", (_, metric) => {
    const numbers = (of: typeof deferred) => Object.values(metric.update(outputs(of), batch())).map(read);
    const expected = numbers(logitsNow);
    for (const [i, list] of numbers(deferred).entries()) expect(maxError(list, expected[i]!)).toSatisfy(small);
  });

  it("losses and metrics of one's own, by logitsOf", () => {
    const got = read(nn.logitsOf(outputs(deferred)) as Tensor);
    expect(maxError(got, read(outputs(logitsNow) as Tensor))).toSatisfy(small);
    const other = put(noise([3]));
    expect(nn.logitsOf(other)).toBe(other);
  });
});

describe("deferredLinear", () => {
  it("has the parameters of linear", () => {
    const shapes = (model: { init: ReturnType<typeof nn.linear>["init"] }) => model.init(nn.initKey(3));
    expect(shapes(nn.deferredLinear(4, 6))).toEqual(shapes(nn.linear(4, 6)));
    expect(shapes(nn.deferredLinear(4, 6, { bias: false }))).toEqual(shapes(nn.linear(4, 6, { bias: false })));
  });

  it("names shapes that do not fit", () => {
    const apply = (x: Tensor) =>
      nn.deferredLinear(4, 6).apply(putAll(nn.linear(4, 6).init(nn.initKey(0))), x, {} as never);
    expect(() => apply(put(noise([2, 3])))).toThrow(
      "deferredLinear(4, 6): expected the last dimension to be 4, got [2, 3]",
    );
    expect(() => nn.deferredLogits(put(noise([2, 3])), put(noise([3])))).toThrow(
      "deferredLogits: expected a weight [classes, features], got [3]",
    );
    const wrong = () => nn.crossEntropy()(deferred(putAll(host)), put(ints([1, 2, 3])), {});
    expect(wrong).toThrow("crossEntropy: expected logits [..., classes] and labels [...], got [2, 5, 12] and [3]");
  });
});
