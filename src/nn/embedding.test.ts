import { jit, numpy as np, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import {
  context,
  floats,
  gradcheck,
  ints,
  maxError,
  noise,
  put,
  putAll,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import type { Tensor, Tensors } from "../core/model.ts";
import { crossEntropy } from "./cross-entropy.ts";
import { embedding } from "./embedding.ts";
import { initKey } from "./key.ts";
import { linear } from "./linear.ts";
import { mse } from "./mse.ts";
import { sequential } from "./sequential.ts";

beforeAll(startWasm);

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
    expect(gradcheck((params) => look(params, put(ids).slice([], [0, 2]).reshape([4])).sum(), { weight })).toEqual([]);
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
