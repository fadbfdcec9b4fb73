// Every primitive of jax-js, forward and backward: the native engine, or another, computes what wasm computes.
import { grad, lax, numpy as np, random } from "@jax-js/jax";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import type { DType, HostArray, TypedArray } from "../../src/core/arrays.ts";
import type { Tensor } from "../../src/core/model.ts";
import { PRIMITIVES } from "../../src/engines/lower/primitives.ts";
import { trace } from "../../src/engines/lower/trace.ts";
import { testEngine } from "../../src/testing/tiny.ts";
import { BothEngines, numbers, wholes, withGradients } from "../support/both-engines.ts";

let both: BothEngines;
beforeAll(async () => void (both = await BothEngines.create()));
afterAll(() => both.close());

/** What jax-js's shaders cannot do, or do wrong, as docs/engines.md#webgpu says. */
const NOT_BY_SHADERS = new Set([
  "of one array > argsort",
  "of one array > argsort, by values",
  "of one array > isnan",
  "of one array > sort",
  "of two arrays that broadcast > shift left of whole numbers",
  "of two arrays that broadcast > shift right of whole numbers",
  "of two arrays that broadcast > shift by a known number of whole numbers",
  "reductions > prod",
]);
const isWebGpu = testEngine() === "webgpu";
beforeEach(({ task, skip }) =>
  skip(isWebGpu && NOT_BY_SHADERS.has(`${task.suite?.name} > ${task.name}`), "not in jax-js's shaders"),
);
/** WGSL asks for no more of a sine. */
const OF_SINES = isWebGpu ? 5e-3 : undefined;

type Fn = (...xs: Tensor[]) => Tensor;

const RUNS = 4;
const seen = new Set<string>();

/** Where the engines differ, in the results and, where it has them, the gradients. Also notes which primitives took part. */
function check(fn: Fn, args: readonly HostArray[], differentiable: boolean, relative?: number): Promise<string[]> {
  return compare(differentiable ? withGradients(fn) : fn, args, relative);
}

function compare(
  fn: (...xs: Tensor[]) => Tensor | Tensor[],
  args: readonly HostArray[],
  relative?: number,
): Promise<string[]> {
  const avals = args.map(({ shape, data }) => ({ shape, dtype: dtypeOf(data) }));
  for (const { primitive } of trace(fn, avals).equations) seen.add(primitive);
  return both.differences(fn, args, relative);
}

function dtypeOf(data: TypedArray): DType {
  if (data instanceof Float32Array) return "float32";
  return data instanceof Uint32Array ? "uint32" : "int32";
}

const size = fc.oneof(
  { weight: 1, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 2, max: 9 }) },
);
const shapes = (min = 0, max = 3) => fc.array(size, { minLength: min, maxLength: max });
/** Which dimensions are of one, so that they are broadcast, and how many in front are missing. */
const broadcastPairs = fc
  .tuple(shapes(), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), fc.nat({ max: 3 }), fc.boolean())
  .map(([shape, ones, drop, exchange]) => {
    const small = shape.map((n, i) => (ones[i] ? 1 : n)).slice(Math.min(drop, shape.length));
    return exchange ? [small, shape] : [shape, small];
  });
/** How an input is looked at before it is used. */
const looks = fc.constantFrom<"as it is" | "transposed" | "flipped" | "sliced">(
  ...(["as it is", "transposed", "flipped", "sliced"] as const),
);
type Look = typeof looks extends fc.Arbitrary<infer L> ? L : never;

/** The input that, seen so, has this shape. */
const shapeFor = (shape: readonly number[], look: Look): number[] => {
  if (look === "transposed") return shape.toReversed();
  return look === "sliced" ? shape.map((n) => n + 2) : [...shape];
};
function seenSo(x: Tensor, look: Look): Tensor {
  if (look === "transposed") return x.transpose();
  if (look === "flipped" && x.ndim > 0) return np.flip(x);
  return look === "sliced" ? x.slice(...x.shape.map((n) => [1, n - 1] as [number, number])) : x;
}

describe("of one array", () => {
  const smooth: Record<string, [fn: Fn, from?: number, to?: number, relative?: number]> = {
    neg: [(x) => x.neg()],
    reciprocal: [(x) => np.reciprocal(x), 0.3, 3],
    sin: [(x) => np.sin(x), -9, 9, OF_SINES],
    cos: [(x) => np.cos(x), -9, 9, OF_SINES],
    asin: [(x) => np.arcsin(x), -0.9, 0.9],
    atan: [(x) => np.arctan(x), -5, 5],
    exp: [(x) => np.exp(x), -5, 3],
    erf: [(x) => lax.erf(x), -3, 3],
    erfc: [(x) => lax.erfc(x), -3, 3],
    sqrt: [(x) => np.sqrt(x), 0.1, 9],
    square: [(x) => np.square(x)],
    tanh: [(x) => np.tanh(x)],
    abs: [(x) => np.abs(x)],
    stop_gradient: [(x) => x.ref.mul(lax.stopGradient(x))],
    "a sum with itself": [(x) => x.ref.add(x.sum(null, { keepdims: true }))],
    cumsum: [(x) => (x.ndim === 0 ? x : np.cumsum(x, -1))],
    sort: [(x) => (x.ndim === 0 ? x : np.sort(x))],
    "argsort, by values": [(x) => (x.ndim === 0 ? x : np.sort(x, 0))],
    max: [(x) => x.max()],
    prod: [(x) => np.prod(x), 0.5, 1.5],
  };
  test.each(Object.entries(smooth))("%s", async (_, [fn, from, to, relative]) => {
    const property = fc.asyncProperty(shapes(), looks, fc.nat({ max: 99 }), async (shape, look, salt) => {
      await expect(
        check((x) => fn(seenSo(x, look)), [numbers(shapeFor(shape, look), salt, from, to)], true, relative),
      ).resolves.toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  const steps: Record<string, Fn> = {
    floor: (x) => np.floor(x),
    ceil: (x) => np.ceil(x),
    trunc: (x) => np.trunc(x),
    round: (x) => np.round(x),
    sign: (x) => np.sign(x),
    "to int32": (x) => x.mul(9).astype(np.int32),
    "to uint32": (x) => np.abs(x).mul(9).astype(np.uint32),
    "to bool": (x) => np.floor(x).astype(np.bool),
    "the bits as int32": (x) => lax.bitcastConvertType(x, np.int32),
    "the bits as uint32, and back": (x) => lax.bitcastConvertType(lax.bitcastConvertType(x, np.uint32), np.float32),
    isfinite: (x) => np.isfinite(np.reciprocal(np.floor(x))),
    isnan: (x) => np.isnan(np.log(x)),
    argmax: (x) => np.argmax(x),
    argsort: (x) => (x.ndim === 0 ? x : np.argsort(x)),
    any: (x) => np.any(x.greater(1.9)),
    all: (x) => np.all(x.less(1.9)),
    "logical not": (x) => np.logicalNot(x.greater(0)),
  };
  test.each(Object.entries(steps))("%s", async (_, fn) => {
    const property = fc.asyncProperty(shapes(), looks, fc.nat({ max: 99 }), async (shape, look, salt) => {
      await expect(check((x) => fn(seenSo(x, look)), [numbers(shapeFor(shape, look), salt)], false)).resolves.toEqual(
        [],
      );
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});

it("log, which jax-js itself has to 1e-5", async () => {
  await fc.assert(
    fc.asyncProperty(shapes(), async (shape) => {
      await expect(check((x) => np.log(x), [numbers(shape, 1, 0.1, 9)], true, 5e-5)).resolves.toEqual([]);
    }),
    { numRuns: RUNS },
  );
});

describe("of two arrays that broadcast", () => {
  const smooth: Record<string, Fn> = {
    add: (x, y) => x.add(y),
    sub: (x, y) => x.sub(y),
    mul: (x, y) => x.mul(y),
    div: (x, y) => x.div(np.abs(y).add(0.5)),
    min: (x, y) => np.minimum(x, y),
    max: (x, y) => np.maximum(x, y),
    mod: (x, y) => np.fmod(x.mul(5), np.abs(y).add(0.5)),
    remainder: (x, y) => np.remainder(x.mul(5), np.abs(y).add(0.5)),
    where: (x, y) => np.where(x.ref.less(y.ref), x, y.mul(2)),
  };
  test.each(Object.entries(smooth))("%s", async (_, fn) => {
    const property = fc.asyncProperty(broadcastPairs, looks, fc.nat({ max: 99 }), async ([a, b], look, salt) => {
      await expect(
        check((x, y) => fn(seenSo(x, look), y), [numbers(shapeFor(a!, look), salt), numbers(b!, salt + 1)], true),
      ).resolves.toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  const whole: Record<string, Fn> = {
    add: (x, y) => x.add(y),
    mul: (x, y) => x.mul(y),
    neg: (x, y) => x.neg().sub(y),
    idiv: (x, y) => np.floorDivide(x, np.abs(y).add(1)),
    "idiv of floats": (x, y) => np.trunc(x.astype(np.float32).div(np.abs(y).add(1).astype(np.float32))),
    mod: (x, y) => np.fmod(x, np.abs(y).add(1)),
    min: (x, y) => np.minimum(x, y),
    max: (x, y) => np.maximum(x, y),
    and: (x, y) => np.bitwiseAnd(x, y),
    or: (x, y) => np.bitwiseOr(x, y),
    xor: (x, y) => np.bitwiseXor(x, y),
    "shift left": (x, y) => np.leftShift(x, np.bitwiseAnd(y, 7)),
    "shift right": (x, y) => np.rightShift(x, np.bitwiseAnd(y, 7)),
    "shift right, unsigned": (x, y) => np.rightShift(x.astype(np.uint32), np.bitwiseAnd(y, 7).astype(np.uint32)),
    "shift by a known number": (x, y) => {
      const three = np.array(3, { dtype: np.int32 });
      return np.rightShift(np.leftShift(x, three.ref), three).add(y);
    },
    count: (x, y) => np.bitwiseCount(x.add(y).astype(np.uint32)),
    less: (x, y) => x.less(y),
    "less or equal": (x, y) => x.lessEqual(y),
    equal: (x, y) => x.equal(y),
    "not equal": (x, y) => x.notEqual(y),
    "less, unsigned": (x, y) => x.astype(np.uint32).less(y.astype(np.uint32)),
    "and, or of truths": (x, y) => np.logicalOr(np.logicalAnd(x.ref.less(3), y.greater(0)), x.equal(5)),
    "where, of mixed types": (x, y) => np.where(x.ref.less(y.ref), x.astype(np.float32), y),
  };
  test.each(Object.entries(whole))("%s of whole numbers", async (_, fn) => {
    const property = fc.asyncProperty(broadcastPairs, fc.nat({ max: 99 }), async ([a, b], salt) => {
      await expect(check(fn, [wholes(a!, 50, salt, -50), wholes(b!, 9, salt + 1, -9)], false)).resolves.toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});

describe("reductions", () => {
  const axesOf = (rank: number) =>
    fc.subarray(
      Array.from({ length: rank }, (_, i) => i),
      { minLength: 1 },
    );
  const cases = shapes(1, 4).chain((shape) => fc.tuple(fc.constant(shape), axesOf(shape.length), looks, fc.boolean()));
  const kinds: Record<string, (x: Tensor, axes: number[], keepdims: boolean) => Tensor> = {
    sum: (x, axes, keepdims) => np.sum(x, axes, { keepdims }),
    mean: (x, axes, keepdims) => np.mean(x, axes, { keepdims }),
    max: (x, axes, keepdims) => np.max(x, axes, { keepdims }),
    min: (x, axes, keepdims) => np.min(x, axes, { keepdims }),
    prod: (x, axes, keepdims) => np.prod(x.mul(0.2).add(1), axes, { keepdims }),
    variance: (x, axes, keepdims) => np.var_(x, axes, { keepdims }),
  };
  test.each(Object.entries(kinds))("%s", async (_, fn) => {
    const property = fc.asyncProperty(cases, async ([shape, axes, look, keepdims]) => {
      await expect(
        check((x) => fn(seenSo(x, look), axes, keepdims), [numbers(shapeFor(shape, look))], true),
      ).resolves.toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});

describe("contractions", () => {
  const dims = fc.tuple(...Array.from({ length: 4 }, () => fc.constantFrom(1, 2, 5, 8, 16, 33)));
  const forms: Record<string, (b: number, n: number, k: number, m: number) => [Fn, number[], number[]]> = {
    "x w": (_, n, k, m) => [(x, w) => np.matmul(x, w), [n, k], [k, m]],
    "x wᵀ": (_, n, k, m) => [(x, w) => np.matmul(x, w.transpose()), [n, k], [m, k]],
    "xᵀ w": (_, n, k, m) => [(x, w) => np.matmul(x.transpose(), w), [k, n], [k, m]],
    "rows of several dimensions": (b, n, k, m) => [(x, w) => np.matmul(x, w), [b, n, k], [k, m]],
    "rows that were turned": (b, n, k, m) => [(x, w) => np.matmul(x.transpose([1, 0, 2]), w), [b, n, k], [k, m]],
    "a batch": (b, n, k, m) => [(x, w) => np.matmul(x, w), [b, n, k], [b, k, m]],
    "heads: batch, tokens, heads, width": (b, n, k, m) => [
      (q, v) => np.matmul(q.transpose([0, 2, 1, 3]), v.transpose([0, 2, 3, 1])),
      [b, n, 2, k],
      [b, m, 2, k],
    ],
    "a matrix and a vector": (_, n, k) => [(x, v) => np.matmul(x, v), [n, k], [k]],
    "two vectors": (_, __, k) => [(x, y) => np.dot(x, y), [k], [k]],
    "an outer product": (_, n, __, m) => [(x, y) => np.outer(x, y), [n], [m]],
    "a flipped side": (_, n, k, m) => [(x, w) => np.matmul(np.flip(x, 1), w), [n, k], [k, m]],
    "a slice": (_, n, k, m) => [(x, w) => np.matmul(x.slice([], [1, k + 1]), w), [n, k + 2], [k, m]],
  };
  /** In bfloat16 a sum whose terms cancel is as wrong as they are: there, all terms are positive. */
  const operand = (shape: readonly number[], seed: number) =>
    process.env.HOOKLINE_TEST_PRECISION === "bf16" ? numbers(shape, seed, 0.2, 1.5) : numbers(shape, seed);
  test.each(Object.entries(forms))("%s", async (_, form) => {
    const property = fc.asyncProperty(dims, async ([b, n, k, m]) => {
      const [fn, left, right] = form(b!, n!, k!, m!);
      await expect(check(fn, [operand(left, 0), operand(right, 1)], true)).resolves.toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  it("of whole numbers are exact, however large", async () => {
    await expect(
      check((x, w) => np.matmul(x, w), [wholes([32, 32], 99_999), wholes([32, 32], 9, 1, -9)], false),
    ).resolves.toEqual([]);
  });

  it("looks at a product in another order than it lies, and in rows that strides cannot say", async () => {
    const turned: Fn = (x, w) => np.matmul(x.transpose([1, 0, 2]), w).reshape([32, 24]);
    await expect(
      check((x, w) => turned(x, w).sum(0), [numbers([8, 4, 16]), numbers([16, 24], 1)], true),
    ).resolves.toEqual([]);
    // Numbers that round alike in bfloat16 change places, and their gradients with them.
    const hasOrder = process.env.HOOKLINE_TEST_PRECISION !== "bf16";
    await expect(
      check((x, w) => np.sort(turned(x, w)), [numbers([8, 4, 16]), numbers([16, 24], 1)], hasOrder),
    ).resolves.toEqual([]);
    await expect(
      check((x, w) => np.matmul(turned(x, w), np.ones([24, 5])), [numbers([8, 4, 16]), numbers([16, 24], 1)], true),
    ).resolves.toEqual([]);
  });
});

it("a convolution worth a matrix library", async () => {
  const fn: Fn = (x, w) => lax.conv(x, w, [1, 1], "VALID");
  await expect(check(fn, [numbers([8, 4, 12, 12]), numbers([8, 4, 3, 3], 1)], true)).resolves.toEqual([]);
});

describe("moving and picking", () => {
  const forms: Record<string, [Fn, ...number[][]]> = {
    pad: [
      (x) =>
        np.pad(x, [
          [1, 2],
          [0, 3],
        ]),
      [3, 5],
    ],
    concatenate: [(x, y) => np.concatenate([x, y], 1), [3, 5], [3, 2]],
    "concatenate in front": [(x, y) => np.concatenate([x, y.mul(2)], 0), [3, 5], [1, 5]],
    stack: [(x, y) => np.stack([x, y], 1), [3, 5], [3, 5]],
    split: [(x) => np.split(x, 3, 1).reduce((a, b) => a.mul(b)), [2, 9]],
    flip: [(x) => np.flip(x, 1).mul(2), [3, 6]],
    "a reshape of a transpose": [(x) => np.exp(x.transpose().reshape([3, 5])), [3, 5]],
    tile: [(x) => np.tile(x, [2, 3]), [3, 2]],
    roll: [(x) => np.roll(x, 2), [7]],
    tril: [(x) => np.tril(x), [5, 5]],
    diagonal: [(x) => np.diagonal(x), [4, 4]],
    outerSum: [(x, y) => x.reshape([4, 1]).add(y), [4], [7]],
  };
  test.each(Object.entries(forms))("%s", async (_, [fn, ...shapesOf]) => {
    await expect(
      check(
        fn,
        shapesOf.map((shape, i) => numbers(shape, i)),
        true,
      ),
    ).resolves.toEqual([]);
  });

  it.each([
    [[6], [9], 0],
    [[6, 5], [9], 0],
    [[6, 5], [2, 4], 0],
    [[3, 6], [4], 1],
    [[3, 6, 2], [4], 1],
    [[6, 1], [3], 0],
  ])("rows of %j by ids of %j along axis %i, and back", async (table, ids, axis) => {
    const index = wholes(ids, table[axis]!, 3);
    const taken = (w: Tensor, i: Tensor): Tensor[] => [
      np.take(w.ref, i.ref, axis),
      grad((v: Tensor) => np.square(np.take(v, i.ref, axis)).sum())(w),
    ];
    await expect(compare(taken, [numbers(table), index])).resolves.toEqual([]);
  });

  it("rows of a table that is made in the same program", async () => {
    const ids = wholes([4], 4, 5);
    await expect(check((x, i) => np.take(np.exp(x), i, 0), [numbers([4, 5]), ids], false)).resolves.toEqual([]);
    await expect(
      check((x, i) => np.take(np.exp(x.ref), i, 0).add(np.exp(x)), [numbers([4, 5]), ids], false),
    ).resolves.toEqual([]);
    await expect(check((i) => np.take(np.arange(9).astype(np.float32), i, 0), [ids], false)).resolves.toEqual([]);
    await expect(check((i) => np.take(np.zeros([9, 2]), i, 0), [ids], false)).resolves.toEqual([]);
  });

  it("ids that are sums of the same rows", async () => {
    await expect(
      check((x, t) => np.take(t, x.greater(0).astype(np.int32).sum(-1), 0), [numbers([4, 5]), numbers([6, 5])], false),
    ).resolves.toEqual([]);
  });

  it("leaves out gradients of rows that are not in the table", async () => {
    const index: HostArray = { data: Int32Array.of(-1, 4, 100, 2), shape: [4] };
    const fn = (w: Tensor, i: Tensor): Tensor => grad((v: Tensor) => np.take(v, i, 0).sum())(w);
    await expect(compare(fn, [numbers([4, 3]), index])).resolves.toEqual([]);
  });

  it.each([
    [[1, 1, 7], [3], [1]],
    [[1, 2, 9], [2], [2]],
    [[1, 1, 8], [3], [3]],
  ])("windows of %j, %j wide, every %j", async (shape, window, strides) => {
    const fn: Fn = (x) => lax.reduceWindow(x, (w: Tensor) => w.sum(), [1, 1, ...window], [1, 1, ...strides]);
    await expect(check(fn, [numbers(shape)], true)).resolves.toEqual([]);
  });
});

describe("random numbers", () => {
  const key: HostArray = { data: Uint32Array.of(7, 11), shape: [2] };
  it.each([[[7]], [[3, 5]], [[2, 3, 4]], [[1]]])("of shape %j have the same bits", async (shape) => {
    await expect(compare((k) => [random.bits(k.ref, shape), random.uniform(k, shape)], [key])).resolves.toEqual([]);
  });

  it("of keys drawn from one, and normal ones", async () => {
    await expect(compare((k) => [random.split(k.ref, 3), random.normal(k, [9])], [key], OF_SINES)).resolves.toEqual([]);
  });
});

it.skipIf(isWebGpu)("was asked of every primitive", () => {
  expect(Object.keys(PRIMITIVES).filter((name) => !seen.has(name))).toEqual([]);
});
