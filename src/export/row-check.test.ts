// Models that mix the rows of a batch are refused; models that only look as if they did are not.
import { nn as jnn, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { startWasm } from "../../tests/support/gradcheck.ts";
import type { Tensor } from "../core/model.ts";
import { pure } from "../nn/layer.ts";
import { sequential } from "../nn/block.ts";
import { captureProgram } from "./capture.ts";

beforeAll(startWasm);

const capture = (forward: (x: Tensor) => Tensor, shape: readonly number[] = [4, 6]): unknown =>
  captureProgram(sequential({ here: pure(forward) }), {}, { x: { shape } });

describe("refused", () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ["a sum over rows", (x) => x.ref.add(x.sum(0, { keepdims: true }))],
    ["a softmax over rows", (x) => jnn.softmax(x, 0)],
    ["the first row", (x) => x.ref.sub(x.slice([0, 1]))],
    ["rows in another order", (x) => np.flip(x, 0)],
    ["sorted rows", (x) => np.sort(x, 0)],
    ["attention between rows", (x) => np.matmul(np.matmul(x.ref, x.ref.transpose()), x)],
    ["a running sum over rows", (x) => np.cumsum(x, 0)],
    ["rows taken apart", (x) => x.ref.transpose().reshape(x.shape)],
    ["the position of a row", (x) => x.ref.add(np.arange(x.shape[0]!).reshape([-1, 1]).astype(np.float32))],
  ])("%s", (_, forward) => {
    expect(() => capture(forward)).toThrow(/The rows of a batch are not independent: `\w+` of layer `here` /);
  });
});

describe("taken", () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ["features moved to the front and back", (x) => np.exp(x.transpose()).transpose()],
    ["each row in two halves", (x) => x.reshape([-1, 3]).mul(2).reshape([-1, 6])],
    ["sorted features", (x) => np.sort(x, 1)],
    ["a product of features with themselves", (x) => np.matmul(x.ref.reshape([-1, 6, 1]), x.reshape([-1, 1, 6]))],
    [
      "an element of each row by its position",
      (x) => x.ref.slice(np.arange(x.shape[0]!), np.argmax(x, 1)).reshape([-1, 1]),
    ],
  ])("%s", (_, forward) => {
    expect(() => capture(forward)).not.toThrow();
  });
});
