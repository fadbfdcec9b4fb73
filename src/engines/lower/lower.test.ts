// A graph computes what jax-js computes, primitive by primitive.
import { init, lax, nn, numpy as np, random, grad, type Array as JaxArray } from "@jax-js/jax";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { runGraph } from "../../../tests/support/run-graph.ts";
import { UnsupportedPrimitive, lower, recoverConstant } from "./lower.ts";
import { trace, type Aval } from "./trace.ts";
import { GraphBuilder } from "./builder.ts";
import type { DType } from "./graph.ts";

beforeAll(async () => void (await init("wasm")));

type Fn = (...args: JaxArray[]) => JaxArray;
const f32 = (...shape: number[]): Aval => ({ shape, dtype: "float32" });

/** Numbers that look arbitrary and are always the same. */
const sample = ({ shape }: Aval, salt = 0): Float32Array<ArrayBuffer> => {
  const length = shape.reduce((a, b) => a * b, 1);
  return Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898 + salt) * 2 + 0.1);
};

/** Where the graph computes something else than jax-js: nowhere, it is hoped. */
function differences(fn: Fn, ...avals: Aval[]): string[] {
  const data = avals.map((aval, i) => sample(aval, i));
  // jax-js makes no array of no data.
  const arrays = avals.map(({ shape }, i) =>
    data[i]!.length === 0 ? np.zeros([...shape]) : np.array(data[i]!, { shape: [...shape], device: "wasm" }),
  );
  const expected = Array.from(
    fn(...arrays)
      .astype(np.float32)
      .dataSync() as Float32Array,
  );
  const [got] = runGraph(lower(trace(fn, avals)), data);
  if (got!.length !== expected.length) return [`${got!.length} numbers, not ${expected.length}`];
  return expected.flatMap((value, i) => {
    const close = Math.abs(got![i]! - value) <= 1e-5 * (1 + Math.abs(value));
    return close || Object.is(got![i], value) ? [] : [`${got![i]} at ${i}, not ${value}`];
  });
}

describe("elementwise", () => {
  const unary: Record<string, Fn> = {
    neg: (x) => x.neg(),
    reciprocal: (x) => np.reciprocal(x),
    floor: (x) => np.floor(x),
    ceil: (x) => np.ceil(x),
    sin: (x) => np.sin(x),
    cos: (x) => np.cos(x),
    asin: (x) => np.arcsin(x.mul(0.4)),
    atan: (x) => np.arctan(x),
    exp: (x) => np.exp(x),
    log: (x) => np.log(np.abs(x).add(0.1)),
    erf: (x) => lax.erf(x),
    erfc: (x) => lax.erfc(x),
    sqrt: (x) => np.sqrt(np.abs(x)),
    square: (x) => np.square(x),
    tanh: (x) => np.tanh(x),
    cast: (x) => x.astype(np.int32),
    where: (x) => np.where(x.ref.greater(0.3), x, -1),
    gelu: (x) => nn.gelu(x),
    softmax: (x) => nn.softmax(x, -1),
    logSoftmax: (x) => nn.logSoftmax(x, -1),
    sort: (x) => np.sort(x),
    argsort: (x) => np.argsort(x),
    flip: (x) => np.flip(x, 0),
  };
  it.each(Object.entries(unary))("%s", (_, fn) => expect(differences(fn, f32(3, 5))).toEqual([]));

  const binary: Record<string, Fn> = {
    add: (x, y) => x.add(y),
    sub: (x, y) => x.sub(y),
    mul: (x, y) => x.mul(y),
    div: (x, y) => x.div(y),
    min: (x, y) => np.minimum(x, y),
    max: (x, y) => np.maximum(x, y),
    mod: (x, y) => np.fmod(x, y),
    less: (x, y) => x.less(y),
    equal: (x, y) => x.equal(y),
    notEqual: (x, y) => x.notEqual(y),
    lessEqual: (x, y) => x.lessEqual(y),
  };
  it.each(Object.entries(binary))("%s of shapes that broadcast", (_, fn) => {
    expect(differences(fn, f32(3, 1, 4), f32(2, 1))).toEqual([]);
    expect(differences(fn, f32(), f32(4))).toEqual([]);
    expect(differences(fn, f32(0, 3), f32(1, 3))).toEqual([]);
  });
});

describe("reductions and contractions", () => {
  it.each([[[0]], [[1]], [[0, 2]], [[0, 1, 2]]])("sum, max, min, prod over %j", (axes) => {
    expect(differences((x) => x.sum(axes), f32(2, 3, 4))).toEqual([]);
    expect(differences((x) => x.max(axes), f32(2, 3, 4))).toEqual([]);
    expect(differences((x) => np.min(x, axes), f32(2, 3, 4))).toEqual([]);
    expect(differences((x) => np.prod(x, axes), f32(2, 3, 4))).toEqual([]);
  });

  it("matmul in its forms", () => {
    expect(differences((x, y) => np.matmul(x, y), f32(3, 4), f32(4, 5))).toEqual([]);
    expect(differences((x, y) => np.matmul(x, y), f32(2, 3, 4), f32(2, 4, 5))).toEqual([]);
    expect(differences((x, y) => np.inner(x, y), f32(2, 3, 4), f32(5, 4))).toEqual([]);
    expect(differences((x, y) => np.dot(x, y), f32(4), f32(4))).toEqual([]);
    expect(differences((x, y) => np.outer(x, y), f32(3), f32(4))).toEqual([]);
  });
});

describe("moving and picking", () => {
  it("pad, concatenate, split, slice", () => {
    expect(
      differences(
        (x) =>
          np.pad(x, [
            [1, 2],
            [0, 1],
          ]),
        f32(2, 3),
      ),
    ).toEqual([]);
    expect(differences((x, y) => np.concatenate([x, y], 1), f32(2, 3), f32(2, 1))).toEqual([]);
    expect(differences((x) => np.split(x, 3, 1)[1]!, f32(2, 6))).toEqual([]);
    expect(differences((x) => x.slice([1, 3], 2), f32(4, 5))).toEqual([]);
  });

  it("gather along one axis, and its gradient", () => {
    const ids = (n: number): JaxArray => np.array(Int32Array.from({ length: n }, (_, i) => (i * 2) % 3));
    expect(differences((x) => np.take(x, ids(4).reshape([2, 2]), 0), f32(3, 5))).toEqual([]);
    expect(differences((x) => np.take(x, ids(2), 1), f32(2, 3, 2))).toEqual([]);
    expect(differences((x) => grad((w: JaxArray) => np.square(np.take(w, ids(4), 0)).sum())(x), f32(3, 2))).toEqual([]);
  });

  it("random bits of a key", () => {
    expect(differences((x) => random.uniform(random.key(7), [3, 4]).add(x), f32(3, 4))).toEqual([]);
    expect(differences((x) => random.normal(random.key(3), [5]).mul(x), f32(5))).toEqual([]);
  });
});

it("any chain of moves and sums", () => {
  const steps = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(steps, (chain) => {
      const fn: Fn = (x) =>
        chain.reduce((y, step) => {
          const [a = 1, b = 1] = y.shape;
          if (step === 0) return y.transpose();
          if (step === 1) return y.reshape([b, a]);
          if (step === 2) return np.flip(y, 0);
          if (step === 3) return y.ref.add(y.sum(0, { keepdims: true }));
          if (step === 4)
            return np
              .pad(y, [
                [0, 1],
                [1, 0],
              ])
              .slice([0, a], [0, b]);
          return np.matmul(y, np.ones([b, 3]).mul(0.5));
        }, x);
      expect(differences(fn, f32(3, 4))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

it("names what it cannot lower", () => {
  const fn = (x: JaxArray): JaxArray => np.linalg.cholesky(x);
  expect(() => lower(trace(fn, [f32(3, 3)]))).toThrow(UnsupportedPrimitive);
  expect(() => lower(trace(fn, [f32(3, 3)]))).toThrow("cholesky");
});

it("recovers tables that count, and numbers repeated", () => {
  const fn = (x: JaxArray): JaxArray => x.add(np.arange(4).astype(np.float32)).mul(np.full([3, 4], 2));
  const graph = lower(trace(fn, [f32(3, 4)]));
  expect(graph.nodes.map(({ op }) => op)).not.toContain("constant");
  expect(differences(fn, f32(3, 4))).toEqual([]);
});

// Tables that are one number or count upwards need no memory, and all others are kept as they are.

type Data = Float32Array | Int32Array | Uint32Array;

function recover(data: Data, shape: number[], dtype: DType): { ops: string[]; values: number[] } {
  const graph = new GraphBuilder();
  const out = recoverConstant(graph, data, shape, dtype);
  const [values] = runGraph({ nodes: graph.nodes, inputs: [], outputs: [out] }, []);
  return { ops: graph.nodes.map(({ op }) => op), values: values! };
}

it.each<[string, Data, number[], DType, string[]]>([
  ["one number", Float32Array.of(2.5, 2.5, 2.5, 2.5), [2, 2], "float32", ["literal"]],
  ["one truth", Int32Array.of(1, 1), [2], "bool", ["literal"]],
  ["nothing", new Float32Array(0), [0, 3], "float32", ["literal"]],
  ["counting along rows", Float32Array.of(0, 1, 2, 0, 1, 2), [2, 3], "float32", ["iota"]],
  ["counting along columns", Int32Array.of(0, 0, 0, 1, 1, 1), [2, 3], "int32", ["iota"]],
  ["counting from five", Int32Array.of(5, 6, 7), [3], "int32", ["iota", "literal", "map"]],
  ["counting to the largest", Uint32Array.of(2 ** 32 - 3, 2 ** 32 - 2), [2], "uint32", ["iota", "literal", "map"]],
  ["a table", Float32Array.of(1, 2, 4), [3], "float32", ["constant"]],
  ["truths", Int32Array.of(0, 1), [2], "bool", ["constant"]],
  ["the zero that is below zero", Float32Array.of(-0, 1, 2), [3], "float32", ["constant"]],
  ["counting by tenths", Float32Array.of(0.1, 1.1, 2.1), [3], "float32", ["constant"]],
])("%s", (_, data, shape, dtype, ops) => {
  const recovered = recover(data, shape, dtype);
  expect(recovered.values).toEqual(Array.from(data));
  expect(recovered.ops).toEqual(ops);
});
