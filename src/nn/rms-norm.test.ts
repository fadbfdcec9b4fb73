import { beforeAll, describe, expect, it } from "vitest";
import { applyLayer, gradcheckLayer, maxError, noise, read, startWasm } from "../../tests/support/gradcheck.ts";
import { rmsNorm } from "./rms-norm.ts";

beforeAll(startWasm);

const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
const rowsOf = (data: ArrayLike<number>, width: number) =>
  Array.from({ length: data.length / width }, (_, i) => Array.from(data).slice(i * width, (i + 1) * width));

describe("rmsNorm", () => {
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
