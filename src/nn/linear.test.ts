import { beforeAll, expect, it } from "vitest";
import {
  applyLayer,
  context,
  fill,
  gradcheckLayer,
  maxError,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import { initKey } from "./key.ts";
import { linear } from "./linear.ts";

beforeAll(startWasm);

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
