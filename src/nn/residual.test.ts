import { beforeAll, expect, it } from "vitest";
import { applyLayer, gradcheckLayer, noise, read, startWasm } from "../../tests/support/gradcheck.ts";
import { initKey } from "./key.ts";
import { linear } from "./linear.ts";
import { residual } from "./residual.ts";

beforeAll(startWasm);

it("adds the input and keeps the inner names", () => {
  const layer = residual(linear(3, 3));
  const params = layer.init(initKey(0));
  expect(Object.keys(params)).toEqual(["weight", "bias"]);
  const x = noise([2, 3]);
  const plain = read(applyLayer(linear(3, 3), params, x));
  expect(read(applyLayer(layer, params, x))).toEqual(plain.map((v, i) => Math.fround(v + x.data[i]!)));
  expect(gradcheckLayer(layer, x)).toEqual([]);
});
