import { beforeAll, describe, expect, it } from "vitest";
import {
  applyLayer,
  context,
  fill,
  floats,
  gradcheck,
  gradcheckLayer,
  ints,
  maxError,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import { initKey, keyStream, stepKey } from "./key.ts";
import { dropout, embedding, linear } from "./basic.ts";
import { jit, numpy as np, valueAndGrad } from "@jax-js/jax";
import type { Tensor, Tensors } from "../core/model.ts";
import { crossEntropy } from "./losses/cross-entropy.ts";
import { mse } from "./losses/regression.ts";
import { sequential } from "./block.ts";

beforeAll(startWasm);

describe("linear", () => {
  it("is x Wᵀ + b over the last dimension", () => {
    const layer = linear(3, 2);
    const params = layer.init(initKey(0));
    const [x, w, b] = [noise([2, 2, 3]), params.weight!, params.bias!];
    const y = applyLayer(layer, params, x);
    expect(y.shape).toEqual([2, 2, 2]);
    const expected = fill([4, 2], ([i, o]) =>
      [0, 1, 2].reduce((sum, k) => sum + x.data[i! * 3 + k]! * w.data[o! * 3 + k]!, b.data[o!]!),
    );
    expect(maxError(read(y), expected)).toBeLessThan(1e-6);
  });

  it("starts as PyTorch does: U(±1/√in) for weight [out, in] and bias [out]", () => {
    const { weight, bias } = linear(100, 50).init(initKey(0));
    expect(weight!.shape).toEqual([50, 100]);
    expect(bias!.shape).toEqual([50]);
    const values = [...weight!.data, ...bias!.data];
    expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(0.1);
    expect(Math.max(...values.map(Math.abs))).toBeGreaterThan(0.099);
    expect(Object.keys(linear(3, 2, { bias: false }).init(initKey(0)))).toEqual(["weight"]);
  });

  it.each([true, false])("has the gradients of finite differences, bias %s", (bias) => {
    expect(gradcheckLayer(linear(4, 3, { bias }), noise([2, 4]))).toEqual([]);
  });

  it("says which layer got which shape", () => {
    const layer = linear(784, 256);
    expect(() => layer.apply(putAll(layer.init(initKey(0))), put(noise([128, 28, 28])), context())).toThrow(
      "linear(784, 256): expected the last dimension to be 784, got [128, 28, 28]",
    );
    expect(() => linear(0, 2)).toThrow("linear: Expected `in` to be a whole number ≥ 1, got `0` (number)");
    expect(() => linear(1, 2, { biass: true } as object)).toThrow("Did you mean `bias`?");
  });
});

describe("embedding", () => {
  const layer = embedding(5, 3);
  const weight = noise([5, 3]);
  const ids = ints([1, 4, 1, 0, 2, 1], [2, 3]);
  const look = (params: Tensors, tensor = put(ids)) => layer.apply(params, tensor, context()) as Tensor;

  it("looks rows up", () => {
    const y = look({ weight: put(weight) });
    expect(y.shape).toEqual([2, 3, 3]);
    expect(read(y)).toEqual([...ids.data].flatMap((id) => Array.from(weight.data.slice(id * 3, id * 3 + 3))));
  });

  it("starts from N(0, 1)", () => {
    const { data } = embedding(100, 100).init(initKey(0)).weight!;
    const square = [...data].reduce((sum, v) => sum + v * v, 0) / data.length;
    expect(square).toBeCloseTo(1, 1);
  });

  describe("gradients under jit", () => {
    const programs: Record<string, (rows: Tensor) => Tensor> = {
      sum: (rows) => rows.sum(),
      mean: (rows) => rows.mean(),
      "mean of a row": (rows) => rows.mean(1).sum(),
      "mean, then square": (rows) => np.square(rows.mean([0, 1])).sum(),
      "one number": (rows) => rows.slice(0, 1, 2),
      "a reshape": (rows) => np.square(rows.reshape([9, 2])).sum(),
      "a transpose": (rows) => rows.transpose([2, 0, 1]).sum(1).sum(),
      "a loss": (rows) => mse()(rows, put(noise([2, 3, 3], 5)), {}),
      "itself squared": (rows) => np.square(rows).sum(),
    };
    it.each(Object.keys(programs))("followed by %s", (name) => {
      expect(gradcheck((params) => programs[name]!(look(params)), { weight })).toEqual([]);
    });

    it("with ids that are a view, a constant or unsigned", () => {
      expect(gradcheck((params) => look(params, put(ids).slice([], [0, 2]).reshape([4])).sum(), { weight })).toEqual(
        [],
      );
      expect(gradcheck((params) => look(params, np.arange(5)).mean(), { weight })).toEqual([]);
      expect(
        gradcheck((params) => look(params, put({ data: Uint32Array.of(3, 3), shape: [2] })).mean(), { weight }),
      ).toEqual([]);
    });

    it("below other layers, with ids as an input of the program", () => {
      const model = sequential(embedding(5, 4), linear(4, 5));
      const params = model.init(initKey(1));
      const program = jit((p: Tensors, x: Tensor, y: Tensor) =>
        valueAndGrad((q: Tensors) => crossEntropy()(model.apply(q, x, context()) as Tensor, y, {}))(p),
      );
      const [, g] = program(putAll(params), put(ids), put(ints([0, 1, 2, 3, 4, -100], [2, 3]))) as unknown as [
        Tensor,
        Tensors,
      ];
      // Row 3 was never looked up; row 1 was, three times.
      const rows = read(g["0.weight"]!);
      expect(rows.slice(12, 16)).toEqual([0, 0, 0, 0]);
      expect(rows.slice(4, 8).every((v) => v !== 0)).toBe(true);
    });
  });

  it("gives NaN for ids outside the table, and neighbours stay right", () => {
    const y = read(look({ weight: put(weight) }, put(ints([5, 1, -1]))));
    expect(y.slice(0, 3).every(Number.isNaN)).toBe(true);
    expect(maxError(y.slice(3, 6), Array.from(weight.data.slice(3, 6)))).toBe(0);
    expect(y.slice(6).every(Number.isNaN)).toBe(true);
  });

  it("explains float ids", () => {
    expect(() => look({ weight: put(weight) }, put(floats([1, 2])))).toThrow(
      "embedding(5, 3): expected ids to be whole numbers (Int32Array or Uint32Array), got float32 [2]",
    );
  });

  it("handles a table of 32,000 rows without a one-hot matrix", () => {
    const table = embedding(32_000, 64);
    const many = ints(Array.from({ length: 512 }, (_, i) => (i * 7919) % 32_000));
    const program = jit((p: Tensors, x: Tensor) =>
      valueAndGrad((q: Tensors) => np.square(table.apply(q, x, context()) as Tensor).mean())(p),
    );
    const [, g] = program(putAll(table.init(initKey(0))), put(many)) as unknown as [Tensor, Tensors];
    expect(read(g.weight!).filter((v) => v !== 0).length).toBe(512 * 64);
  });
});

describe("dropout", () => {
  const layer = dropout(0.25);
  const run = jit((key: Tensor, x: Tensor) => {
    const ctx = { ...context(true), key: keyStream(key) };
    return [layer.apply({}, x.ref, ctx) as Tensor, layer.apply({}, x, ctx) as Tensor];
  });
  const masks = (step: number) =>
    run(put({ data: stepKey(0, step, 0), shape: [2] }), np.ones([100, 100])).map(read) as [number[], number[]];

  it("drops a share p and scales up the rest", () => {
    const [y] = masks(1);
    const scaled = Math.fround(1 / 0.75);
    expect(new Set(y)).toEqual(new Set([0, scaled]));
    expect(y.filter((v) => v === 0).length / y.length).toBeCloseTo(0.25, 1);
  });

  it("is the same for the same step, and another for each step and layer", () => {
    const [a, b] = masks(1);
    expect(masks(1)[0]).toEqual(a);
    expect(masks(2)[0]).not.toEqual(a);
    expect(b).not.toEqual(a);
    // Independent masks agree on 0.25² + 0.75² of the positions.
    expect(a.filter((v, i) => v === b[i]).length / a.length).toBeCloseTo(0.625, 1);
  });

  it("does nothing in evaluation or with p = 0", () => {
    const x = noise([4]);
    expect(read(layer.apply({}, put(x), context(false)) as Tensor)).toEqual([...x.data]);
    expect(read(dropout(0).apply({}, put(x), context(true)) as Tensor)).toEqual([...x.data]);
  });

  it("has the gradients of finite differences, nested too", () => {
    expect(gradcheckLayer(sequential(dropout(0.5), dropout(0.5)), noise([3, 4]), { train: true })).toEqual([]);
  });

  it("checks p", () => {
    expect(() => dropout(1)).toThrow(
      "dropout: Expected `p` to be a number from 0 up to 1 (exclusive), got `1` (number)",
    );
  });
});
