import { beforeAll, describe, expect, it } from "vitest";
import {
  applyLayer,
  context,
  gradcheckLayer,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import type { Tensor, Tensors } from "../core/model.ts";
import { relu } from "./activations.ts";
import { batchNorm } from "./batch-norm.ts";
import { dropout } from "./dropout.ts";
import { flatten } from "./flatten.ts";
import { initKey } from "./key.ts";
import { linear } from "./linear.ts";
import { residual } from "./residual.ts";
import { sequential } from "./sequential.ts";

beforeAll(startWasm);

describe("sequential", () => {
  it("names layers by position or by name", () => {
    expect(Object.keys(sequential(linear(2, 3), relu(), linear(3, 1)).init(initKey(0)))).toEqual([
      "0.weight",
      "0.bias",
      "2.weight",
      "2.bias",
    ]);
    expect(Object.keys(sequential({ fc1: linear(2, 3), act: relu(), fc2: linear(3, 1) }).init(initKey(0)))).toEqual([
      "fc1.weight",
      "fc1.bias",
      "fc2.weight",
      "fc2.bias",
    ]);
  });

  it("runs layers in order, and flatten keeps the batch", () => {
    const model = sequential(flatten(), linear(6, 4), relu(), linear(4, 2));
    expect(applyLayer(model, model.init(initKey(0)), noise([5, 2, 3])).shape).toEqual([5, 2]);
    expect(gradcheckLayer(model, noise([2, 2, 3]))).toEqual([]);
  });

  it("has state exactly when a child has, under nested names", () => {
    expect(sequential(linear(2, 2))).not.toHaveProperty("initState");
    const model = sequential({ a: sequential(linear(2, 3), batchNorm(3)), b: residual(batchNorm(3)), c: dropout(0.5) });
    expect(Object.keys(model.initState!())).toEqual([
      "a.1.running_mean",
      "a.1.running_var",
      "a.1.num_batches_tracked",
      "b.running_mean",
      "b.running_var",
      "b.num_batches_tracked",
    ]);
    const params = putAll(model.init(initKey(0)));
    const [y, state] = model.apply(params, put(noise([4, 2])), context(true, putAll(model.initState!()))) as [
      Tensor,
      Tensors,
    ];
    expect(y.shape).toEqual([4, 3]);
    expect(Object.keys(state)).toEqual(Object.keys(model.initState!()));
    expect(read(state["b.num_batches_tracked"]!)).toEqual([1]);
    expect(read(state["a.1.running_var"]!)).not.toEqual([1, 1, 1]);
  });
});
