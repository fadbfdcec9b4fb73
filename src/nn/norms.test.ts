import { beforeAll, describe, expect, it } from "vitest";
import {
  applyLayer,
  context,
  gradcheckLayer,
  maxError,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import type { HostTensors, Tensor, Tensors } from "../core/model.ts";
import { batchNorm, layerNorm, rmsNorm } from "./norms.ts";
import { initKey } from "./key.ts";

beforeAll(startWasm);

describe("batchNorm", () => {
  const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
  const affine: HostTensors = { weight: noise([4], 21), bias: noise([4], 22) };

  const shapes = [
    [5, 4],
    [3, 4, 2],
    [2, 4, 3, 2],
  ];
  const channel = (data: ArrayLike<number>, shape: number[], c: number) => {
    const inner = shape.slice(2).reduce((a, b) => a * b, 1);
    return Array.from(data).filter((_, i) => Math.floor(i / inner) % 4 === c);
  };

  it.each(shapes.map((shape) => [shape]))(
    "normalizes each channel of %o and updates the running statistics",
    (shape) => {
      const layer = batchNorm(4, { momentum: 0.3, eps: 1e-3 });
      const x = noise(shape);
      const state = putAll({ ...layer.initState!(), running_mean: noise([4], 30) });
      const [y, next] = layer.apply(putAll(affine), put(x), context(true, state)) as [Tensor, Tensors];
      const out = read(y);
      const after = Object.fromEntries(Object.entries(next).map(([name, v]) => [name, read(v)]));
      for (let c = 0; c < 4; c++) {
        const values = channel(x.data, shape, c);
        const m = mean(values);
        const variance = mean(values.map((v) => (v - m) ** 2));
        const scale = affine.weight!.data[c]! / Math.sqrt(variance + 1e-3);
        const expected = values.map((v) => (v - m) * scale + affine.bias!.data[c]!);
        expect(maxError(channel(out, shape, c), expected)).toBeLessThan(1e-5);
        expect(after.running_mean![c]).toBeCloseTo(0.7 * noise([4], 30).data[c]! + 0.3 * m, 5);
        const unbiased = (variance * values.length) / (values.length - 1);
        expect(after.running_var![c]).toBeCloseTo(0.7 + 0.3 * unbiased, 5);
      }
      expect(after.num_batches_tracked).toEqual([1]);
    },
  );

  it("uses and keeps the running statistics in evaluation", () => {
    const layer = batchNorm(4);
    const host = { running_mean: noise([4], 31), running_var: { data: Float32Array.of(1, 2, 3, 4), shape: [4] } };
    const state = putAll({ ...layer.initState!(), ...host });
    const x = noise([3, 4]);
    const [y, next] = layer.apply(putAll(affine), put(x), context(false, state)) as [Tensor, Tensors];
    const expected = Array.from(x.data, (v, i) => {
      const c = i % 4;
      const centred = v - host.running_mean.data[c]!;
      return (centred / Math.sqrt(host.running_var.data[c]! + 1e-5)) * affine.weight!.data[c]! + affine.bias!.data[c]!;
    });
    expect(maxError(read(y), expected)).toBeLessThan(1e-5);
    expect(read(next.running_mean!)).toEqual([...host.running_mean.data]);
    expect(read(next.num_batches_tracked!)).toEqual([0]);
  });

  it.each([true, false])("has the gradients of finite differences, train %s", (train) => {
    for (const shape of shapes)
      expect(gradcheckLayer(batchNorm(4), noise(shape), { train, params: affine, tolerance: 2e-2 })).toEqual([]);
  });

  it("explains what it cannot do", () => {
    const run = (shape: number[]) => {
      const layer = batchNorm(4);
      return layer.apply(putAll(affine), put(noise(shape)), context(true, putAll(layer.initState!())));
    };
    expect(() => run([1, 4])).toThrow("batchNorm(4): training needs more than one value per channel, got [1, 4]");
    expect(() => run([2, 3])).toThrow("batchNorm(4): expected [batch, 4, …], got [2, 3]");
    expect(() => batchNorm(4, { momentun: 0.1 } as object)).toThrow("Did you mean `momentum`?");
  });
});

describe("layerNorm", () => {
  const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
  const rowsOf = (data: ArrayLike<number>, width: number) =>
    Array.from({ length: data.length / width }, (_, i) => Array.from(data).slice(i * width, (i + 1) * width));
  const affine: HostTensors = { weight: noise([4], 21), bias: noise([4], 22) };

  it.each([{}, { eps: 0.1 }, { bias: false }])("equals its definition: %o", (options) => {
    const layer = layerNorm(4, options);
    const params = "bias" in options ? { weight: affine.weight! } : affine;
    const x = noise([2, 3, 4]);
    const expected = rowsOf(x.data, 4).flatMap((row) => {
      const m = mean(row);
      const scale = 1 / Math.sqrt(mean(row.map((v) => (v - m) ** 2)) + (options.eps ?? 1e-5));
      return row.map((v, i) => (v - m) * scale * affine.weight!.data[i]! + (params.bias?.data[i] ?? 0));
    });
    expect(maxError(read(applyLayer(layer, params, x)), expected)).toBeLessThan(1e-5);
    expect(gradcheckLayer(layer, x, { params })).toEqual([]);
  });

  it("starts from ones and zeros, and checks its input", () => {
    const layer = layerNorm(4);
    const params = layer.init(initKey(0));
    expect([[...params.weight!.data], [...params.bias!.data]]).toEqual([Array(4).fill(1), Array(4).fill(0)]);
    expect(() => layer.apply(putAll(params), put(noise([2, 3])), context())).toThrow(
      "layerNorm(4): expected the last dimension to be 4, got [2, 3]",
    );
  });
});

describe("rmsNorm", () => {
  const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
  const rowsOf = (data: ArrayLike<number>, width: number) =>
    Array.from({ length: data.length / width }, (_, i) => Array.from(data).slice(i * width, (i + 1) * width));

  it.each([{}, { eps: 0.1 }])("equals its definition: %o", (options) => {
    const layer = rmsNorm(4, options);
    const params = { weight: noise([4], 21) };
    const x = noise([3, 4]);
    const expected = rowsOf(x.data, 4).flatMap((row) => {
      const scale = 1 / Math.sqrt(mean(row.map((v) => v * v)) + (options.eps ?? 2 ** -23));
      return row.map((v, i) => v * scale * params.weight.data[i]!);
    });
    expect(maxError(read(applyLayer(layer, params, x)), expected)).toBeLessThan(1e-5);
    expect(gradcheckLayer(layer, x, { params })).toEqual([]);
  });
});
