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
import type { HostTensors } from "../core/model.ts";
import { initKey } from "./key.ts";
import { layerNorm } from "./layer-norm.ts";

beforeAll(startWasm);

const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
const rowsOf = (data: ArrayLike<number>, width: number) =>
  Array.from({ length: data.length / width }, (_, i) => Array.from(data).slice(i * width, (i + 1) * width));
const affine: HostTensors = { weight: noise([4], 21), bias: noise([4], 22) };

describe("layerNorm", () => {
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
