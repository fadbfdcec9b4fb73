// What the xla engine writes for each primitive of jax-js, as text: compared with the last time, and read by a checker that
// knows shapes and types. That the numbers are right is tested where XLA is (native-primitives.test.ts on the engine "xla").
import { init, lax, nn, numpy as np, random, grad, type Array as JaxArray } from "@jax-js/jax";
import { beforeAll, describe, expect, it, test } from "vitest";
import { lower } from "../../../src/engines/lower/lower.ts";
import { PRIMITIVES, WHOLE_CONVOLUTIONS } from "../../../src/engines/lower/primitives.ts";
import { trace, type Aval } from "../../../src/engines/lower/trace.ts";
import { writeModule, type HloOptions } from "../../../src/engines/xla/hlo/module.ts";
import {
  conv2d,
  crossEntropy,
  deferredLogits,
  initKey,
  keyStream,
  linear,
  multiHeadAttention,
  remat,
  sequential,
  tanh,
  type AttentionOptions,
} from "../../../src/nn/index.ts";
import type { Architecture } from "../../../src/lm/config/architecture.ts";
import { attend, headsOf } from "../../../src/lm/model/attention.ts";
import { both } from "../../../src/nn/layer.ts";
import "../../support/iterator-helpers.ts";
import { checkStableHlo } from "../../support/check-stablehlo.ts";

beforeAll(async () => void (await init("wasm")));

type Fn = (...args: never[]) => JaxArray | JaxArray[];
const f32 = (...shape: number[]): Aval => ({ shape, dtype: "float32" });
const i32 = (...shape: number[]): Aval => ({ shape, dtype: "int32" });
const u32 = (...shape: number[]): Aval => ({ shape, dtype: "uint32" });
const seen = new Set<string>();

function textOf(fn: Fn, avals: readonly Aval[], options?: HloOptions): string {
  const traced = trace(fn, avals, { convolves: true });
  for (const { primitive } of traced.equations) seen.add(primitive);
  return writeModule(lower(traced, WHOLE_CONVOLUTIONS), options).text;
}

const x = f32(2, 3);
const cases: [name: string, fn: (...args: JaxArray[]) => JaxArray | JaxArray[], ...Aval[]][] = [
  ["add", (a, b) => a.add(b), x, f32(3)],
  ["sub", (a, b) => a.sub(b), x, x],
  ["mul", (a, b) => a.mul(b), x, x],
  ["min, max", (a, b) => [np.minimum(a.ref, b.ref), np.maximum(a, b)], x, x],
  ["idiv of whole numbers", (a, b) => np.floorDivide(a, b), i32(3), i32(3)],
  ["trunc of a quotient", (a, b) => np.trunc(a.div(b)), x, x],
  ["mod", (a, b) => np.fmod(a, b), x, x],
  ["neg", (a) => a.neg(), x],
  ["reciprocal", (a) => np.reciprocal(a), x],
  ["floor, ceil", (a) => [np.floor(a.ref), np.ceil(a)], x],
  ["sin, cos", (a) => [np.sin(a.ref), np.cos(a)], x],
  ["asin, atan", (a) => [np.arcsin(a.ref), np.arctan(a)], x],
  ["exp, log, sqrt", (a) => [np.exp(a.ref), np.log(a.ref), np.sqrt(a)], x],
  ["tanh", (a) => np.tanh(a), x],
  [
    "the gradient of tanh",
    (a, b) => (grad((of: JaxArray) => np.tanh(of).mul(b).sum()) as unknown as (of: JaxArray) => JaxArray)(a),
    x,
    x,
  ],
  ["erf, erfc", (a) => [lax.erf(a.ref), lax.erfc(a)], x],
  ["bit_combine", (a, b) => np.bitwiseXor(np.bitwiseAnd(a.ref, b.ref), np.bitwiseOr(a, b)), i32(3), i32(3)],
  ["bit_shift", (a, b) => [np.leftShift(a.ref, b.ref), np.rightShift(a, b)], i32(3), i32(3)],
  ["bit_count", (a) => np.bitwiseCount(a), u32(3)],
  ["stop_gradient", (a) => lax.stopGradient(a), x],
  ["cast to whole numbers", (a) => [a.ref.astype(np.int32), a.astype(np.uint32)], x],
  ["cast to and from truth values", (a) => a.astype(np.bool).astype(np.float32), x],
  ["bitcast", (a) => lax.bitcastConvertType(a, np.int32), x],
  ["compare, where", (a, b) => np.where(a.ref.less(b.ref), a, b), x, x],
  ["compare in its forms", (a, b) => [a.ref.equal(b.ref), a.ref.notEqual(b.ref), a.lessEqual(b)], i32(2), i32(2)],
  ["transpose", (a) => np.exp(a.transpose()), x],
  ["reshape of a transpose", (a) => a.transpose().reshape([2, 3]).add(1), x],
  ["flip", (a) => np.flip(a, 1), x],
  ["shrink", (a) => a.slice([0, 1], [1, 3]), x],
  ["broadcast", (a) => np.broadcastTo(a, [4, 2, 3]).mul(2), x],
  ["split", (a) => np.split(a, 3, 1), x],
  [
    "pad",
    (a) =>
      np.pad(a, [
        [1, 0],
        [2, 1],
      ]),
    x,
  ],
  ["concatenate", (a, b) => np.concatenate([a, b], 1), x, f32(2, 1)],
  ["reduce", (a) => [a.ref.sum(0), a.ref.max(1), np.min(a.ref), np.prod(a, 1)], x],
  ["reduce of truth values", (a) => [np.any(a.ref.greater(0)), np.all(a.greater(0))], x],
  ["dot", (a, b) => np.matmul(a, b), x, f32(3, 4)],
  ["dot of a batch", (a, b) => np.matmul(a, b), f32(5, 2, 3), f32(5, 3, 4)],
  [
    "dot with a weight's transpose, and back",
    (a, b) => grad((w: JaxArray) => np.inner(a.ref, w).sum())(b),
    f32(2, 5, 3),
    f32(4, 3),
  ],
  ["conv", (a, b) => lax.conv(a, b, [2, 1], "SAME"), f32(2, 3, 8, 8), f32(4, 3, 3, 3)],
  [
    "conv, backward",
    (a, b) => grad((w: JaxArray) => lax.conv(a.ref, w, [2, 2], "VALID").sum())(b),
    f32(2, 3, 9, 8),
    f32(4, 3, 3, 3),
  ],
  ["pool", (a) => lax.reduceWindow(a, (w: JaxArray) => w.sum(), [1, 1, 3], [1, 1, 2]), f32(1, 2, 9)],
  [
    "pool_transpose",
    (a) =>
      grad((b: JaxArray) => np.square(lax.reduceWindow(b, (w: JaxArray) => w.sum(), [1, 1, 3], [1, 1, 2])).sum())(a),
    f32(1, 2, 9),
  ],
  [
    "windows side by side",
    (a) =>
      grad((b: JaxArray) => np.square(lax.reduceWindow(b, (w: JaxArray) => w.max(), [1, 1, 3], [1, 1, 3])).sum())(a),
    f32(1, 2, 9),
  ],
  ["cumsum", (a) => np.cumsum(a, 1), x],
  ["gather", (a, i) => np.take(a, i, 0), f32(5, 3), i32(4)],
  ["gather along another axis", (a, i) => np.take(a, i, 1), f32(2, 5, 3), i32(4)],
  ["scatter", (a, i) => grad((w: JaxArray) => np.square(np.take(w, i.ref, 0)).sum())(a), f32(5, 3), i32(4)],
  ["sort", (a) => np.sort(a), x],
  ["argsort", (a) => np.argsort(a), x],
  ["random_bits", (k) => random.bits(k, [2, 3]), u32(2)],
];

test.each(cases)("%s", (_, fn, ...avals) => {
  const text = textOf(fn, avals);
  checkStableHlo(text);
  expect(text).toMatchSnapshot();
});

it("writes every primitive", () => {
  expect(Object.keys(PRIMITIVES).filter((name) => !seen.has(name))).toEqual([]);
});

it("keeps convolutions whole, and windows together", () => {
  const conv = textOf((a: JaxArray, b: JaxArray) => lax.conv(a, b, [1, 1], "SAME"), [f32(2, 3, 8, 8), f32(4, 3, 3, 3)]);
  expect(checkStableHlo(conv)).toEqual({ convolution: 1 });
});

it("keeps conv2d a convolution, and its gradients too", () => {
  const model = conv2d(3, 4, { kernel: [3, 2], stride: [2, 1], padding: [1, 0] });
  const step = ((image: JaxArray, weight: JaxArray, bias: JaxArray) => {
    const loss = (({ image: on, ...params }: Record<string, JaxArray>) =>
      np.square(model.apply(params, on!, {} as never) as JaxArray).sum()) as never;
    return Object.values((grad(loss) as unknown as (p: object) => Record<string, JaxArray>)({ image, weight, bias }));
  }) as Fn;
  const text = textOf(step, [f32(2, 3, 9, 8), f32(4, 3, 3, 2), f32(4)]);
  const counts = checkStableHlo(text);
  expect(counts.convolution).toBe(3);
  expect(counts).not.toHaveProperty("concatenate");
  expect(counts).not.toHaveProperty("dot_general");
  expect(text).toMatchSnapshot();
});

it("makes one dot_general of a product and of each of its gradients, whatever views lie between", () => {
  const loss = (a: JaxArray, w: JaxArray): JaxArray =>
    np.square(np.matmul(a.transpose([1, 0, 2]), w).reshape([8, 3])).sum();
  type Pair = { a: JaxArray; w: JaxArray };
  const backward = grad(((p: Pair) => loss(p.a, p.w)) as never) as unknown as (p: Pair) => Pair;
  const both = ((a: JaxArray, w: JaxArray) => Object.values(backward({ a, w }))) as Fn;
  const { dot_general: products } = checkStableHlo(textOf(both, [f32(2, 4, 5), f32(5, 3)]));
  expect(products).toBe(3);
});

it("says which inputs a result may overwrite", () => {
  const text = textOf((a: JaxArray, b: JaxArray) => [b.mul(2), a.add(1)], [x, f32(4)], {
    donated: new Map([
      [0, 1],
      [1, 0],
    ]),
  });
  expect(text).toContain(
    "%arg0: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 0 : i32}",
  );
});

it("stores the parts of a gradient that a chunked loss adds up", () => {
  const step = ((hidden: JaxArray, weight: JaxArray, labels: JaxArray) => {
    const loss = ((p: { hidden: JaxArray; weight: JaxArray }) =>
      crossEntropy({ chunk: 2 })(deferredLogits(p.hidden, p.weight), labels, {})) as never;
    return Object.values((grad(loss) as unknown as (p: object) => Record<string, JaxArray>)({ hidden, weight }));
  }) as Fn;
  const text = textOf(step, [f32(6, 4), f32(8, 4), i32(6)]);
  expect(checkStableHlo(text)).toMatchObject({ dot_general: 9, optimization_barrier: 2 });
  expect(text).not.toContain("tensor<6x8xf32>");
  expect(text).toMatchSnapshot();
});

it("computes the inside of remat again in the backward pass", () => {
  const model = remat(sequential(linear(3, 4), tanh(), linear(4, 3)));
  const step = ((w0: JaxArray, b0: JaxArray, w2: JaxArray, b2: JaxArray, input: JaxArray) => {
    const loss = ((p: Record<string, JaxArray>) =>
      np.square(model.apply(p, input.ref, { state: {} } as never) as JaxArray).sum()) as never;
    const params = { "0.weight": w0, "0.bias": b0, "2.weight": w2, "2.bias": b2 };
    return Object.values((grad(loss) as unknown as (p: object) => Record<string, JaxArray>)(params));
  }) as Fn;
  const text = textOf(step, [f32(4, 3), f32(4), f32(3, 4), f32(3), f32(5, 3)]);
  // Two products forward, one again, and three backward; the input waits for the derivative of the output.
  expect(checkStableHlo(text)).toMatchObject({ dot_general: 6, optimization_barrier: 1 });
  expect(text).toMatch(/:2 = stablehlo.optimization_barrier %arg4, %\d+ :/);
  expect(text).toMatchSnapshot();
});

it("takes large tables as arguments and writes small ones", () => {
  const table = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i));
  const add = (length: number) => (a: JaxArray) => a.add(np.array(table(length), { shape: [length], device: "wasm" }));
  const module = (length: number) => writeModule(lower(trace(add(length), [f32(length)])));
  expect(module(3).tables).toEqual([]);
  expect(module(300).tables.map(({ shape }) => shape)).toEqual([[300]]);
  for (const length of [3, 300]) checkStableHlo(module(length).text);
});

describe("attention by cuDNN", () => {
  const [batch, tokens, features] = [2, 64, 32];
  const layer = (options: AttentionOptions) => {
    const model = multiHeadAttention(features, 2, options);
    const params = Object.fromEntries(
      Object.entries(model.init(initKey(0))).map(([name, { shape }]) => [name, { shape, dtype: "float32" as const }]),
    );
    const step = (p: Record<string, JaxArray>, input: JaxArray, key: JaxArray): JaxArray[] => {
      const context = { train: true, state: {}, key: keyStream(key), loader: "train" };
      const loss = (q: Record<string, JaxArray>): JaxArray =>
        np.square(model.apply(q, input.ref, context) as JaxArray).sum();
      return Object.values((grad(loss as never) as unknown as typeof loss)(p as never));
    };
    const traced = trace(step, [params, f32(batch, tokens, features), u32(2)]);
    return writeModule(lower(traced, WHOLE_CONVOLUTIONS), { precision: "bf16", cudnnAttention: true });
  };

  it.each([true, false])("replaces products and softmax, forward and backward; causal: %s", (causal) => {
    const { text, fusedAttentions } = layer({ causal });
    expect(fusedAttentions).toBe(1);
    expect(checkStableHlo(text).custom_call).toBe(2);
    expect(text).toContain(causal ? "CAUSAL" : "NO_MASK");
    expect(text.match(/.*custom_call.*/g)!.join("\n")).toMatchSnapshot();
  });

  it("leaves attention with dropout to XLA, and attention of other programs than in bf16", () => {
    expect(layer({ causal: true, dropout: 0.1 }).fusedAttentions).toBe(0);
    const traced = trace((a: JaxArray) => nn.softmax(a, -1), [x]);
    expect(writeModule(lower(traced), { cudnnAttention: true }).fusedAttentions).toBe(0);
  });
});

it.each([true, false])("cuDNN also computes jax-js's dotProductAttention; causal: %s", (isCausal) => {
  type Qkv = Record<"q" | "k" | "v", JaxArray>;
  const step = ((q: JaxArray, k: JaxArray, v: JaxArray) => {
    const loss = (p: Qkv): JaxArray => np.square(nn.dotProductAttention(p.q, p.k, p.v, { isCausal })).sum();
    return Object.values((grad(loss as never) as unknown as (p: Qkv) => Qkv)({ q, k, v }));
  }) as Fn;
  const sizes = [1, 2, 3].map(() => f32(2, 64, 2, 16));
  const module = writeModule(lower(trace(step, sizes)), { precision: "bf16", cudnnAttention: true });
  expect(module.fusedAttentions).toBe(1);
  expect(checkStableHlo(module.text).custom_call).toBe(2);
  expect(module.text.match(/fmha_scale\\22:0.25,/g)).toHaveLength(2);
  expect(module.text).toContain(isCausal ? "CAUSAL" : "NO_MASK");
  // The gradients of q, k and v come from the second call.
  expect(module.text.match(/.*custom_call.*|.*return.*/g)!.join("\n")).toMatchSnapshot();
});

describe("cuDNN also computes the attention of language models, in which heads share keys", () => {
  const architecture = { heads: 4, keyValueHeads: 2, headDim: 16, scoreScale: 0.25 } as Architecture;
  const step = ((q: JaxArray, k: JaxArray, v: JaxArray, segments: JaxArray) => {
    type Qkv = Record<"q" | "k" | "v", JaxArray>;
    const place = np.arange(64);
    const seen = place.ref.reshape([64, 1]).greaterEqual(place.reshape([1, 64]));
    const same = segments.ref.reshape([2, 1, 64, 1]).equal(segments.reshape([2, 1, 1, 64]));
    const loss = (p: Qkv): JaxArray => {
      const visible = isPacked ? both(seen.reshape([1, 1, 64, 64]), same) : seen;
      return np.square(attend(architecture, headsOf(p.q, 4), headsOf(p.k, 2), headsOf(p.v, 2), visible)).sum();
    };
    return Object.values((grad(loss as never) as unknown as (p: Qkv) => Qkv)({ q, k, v }));
  }) as Fn;
  let isPacked = false;

  it.each([false, true])("packed rows: %s", (given) => {
    isPacked = given;
    const sizes = [f32(2, 64, 64), f32(2, 64, 32), f32(2, 64, 32), i32(2, 64)];
    const module = writeModule(lower(trace(step, sizes)), { precision: "bf16", cudnnAttention: true });
    expect(module.fusedAttentions).toBe(1);
    expect(checkStableHlo(module.text).custom_call).toBe(2);
    // A mask that is not causal is added to the scores, once for all heads.
    expect(module.text).toContain(given ? "NO_MASK" : "CAUSAL");
    const calls = module.text.match(/custom_call.*/g)!;
    expect(calls.every((call) => call.includes("tensor<2x1x64x64xbf16>") === given)).toBe(true);
    // Of keys and values there are as many heads in the derivatives as there are.
    expect(calls[1]).toMatch(/-> \(tensor<2x4x64x16xbf16>, tensor<2x2x64x16xbf16>, tensor<2x2x64x16xbf16>,/);
    expect(calls.join("\n")).toMatchSnapshot();
  });
});

describe("bf16", () => {
  const model = (p: { w: JaxArray; b: JaxArray; v: JaxArray }, a: JaxArray): JaxArray =>
    np.exp(np.matmul(np.maximum(np.matmul(a, p.w).add(p.b), 0), p.v)).sum();
  const step = ((w: JaxArray, b: JaxArray, v: JaxArray, a: JaxArray) => {
    const backward = grad(((p: never) => model(p, a)) as never) as unknown as (p: object) => Record<string, JaxArray>;
    const grads = backward({ w: w.ref, b: b.ref, v: v.ref });
    return [w.sub(grads.w!.mul(0.1)), b.sub(grads.b!.mul(0.1)), v.sub(grads.v!.mul(0.1))];
  }) as Fn;
  const text = (): string => textOf(step, [f32(8, 16), f32(16), f32(16, 4), f32(32, 8)], { precision: "bf16" });

  it("multiplies in bf16, and adds, exponentiates and updates in float32", () => {
    checkStableHlo(text());
    expect(text()).toMatchSnapshot();
    const products = text().match(/dot_general.*/g)!;
    expect(products.every((line) => /\(tensor<\S+xbf16>, tensor<\S+xbf16>\)/.test(line))).toBe(true);
    expect(text()).not.toMatch(/(exponential|reduce|subtract).*bf16/);
  });
});

describe("bf16 along a residual path", () => {
  /** A block with a norm, whose mean is of rows, behind a bias. */
  const block = (tokens: number, precision: HloOptions["precision"]): string => {
    const step = (w: JaxArray, b: JaxArray, x0: JaxArray): JaxArray => {
      const loss = (p: JaxArray): JaxArray => {
        const once = (x: JaxArray): JaxArray => {
          const centered = x.ref.sub(np.mean(x.ref, -1, { keepdims: true }));
          return x.add(np.matmul(centered, p.ref).add(b.ref));
        };
        return np.square(once(once(np.matmul(x0, p.ref)))).sum();
      };
      return (grad(loss as never) as unknown as typeof loss)(w);
    };
    return textOf(step, [f32(64, 64), f32(64), f32(tokens, 64)], { precision });
  };

  it("adds biases in bfloat16, and takes means off in float32", () => {
    const text = block(1024, "bf16");
    checkStableHlo(text);
    const bias = /convert %arg1 .*\n.*broadcast_in_dim (%\d+).*tensor<1024x64xbf16>/.exec(text);
    expect(bias).not.toBeNull();
    // Statistics of rows stay as they are, and so does what they are added to.
    expect(text).not.toMatch(/convert .*tensor<1024(x1)?xf32>\) -> tensor<1024(x1)?xbf16>/);
    expect(text).toMatch(/add %\d+, %\d+ : tensor<1024x64xf32>/);
  });

  it("reads a gradient behind a product in bfloat16, as the product took it", () => {
    const text = block(1024, "bf16");
    const barriers = [...text.matchAll(/optimization_barrier (%\d+) : tensor<1024x64xbf16>/g)];
    expect(barriers.length).toBeGreaterThan(0);
    for (const [, name] of barriers) {
      expect(text).toMatch(new RegExp(`${name} = stablehlo.convert %\\d+ : \\(tensor<1024x64xf32>\\)`));
      expect(text).toMatch(new RegExp(`dot_general ${name},|dot_general %\\d+, ${name},`));
    }
    expect(block(1023, "bf16")).not.toContain("optimization_barrier");
    expect(block(1024, "float32")).not.toContain("optimization_barrier");
  });
});

describe("the gradient of an embedding", () => {
  const tied = (options?: HloOptions): string => {
    const step = (table: JaxArray, ids: JaxArray): JaxArray => {
      const loss = (p: JaxArray): JaxArray => {
        const rows = np.take(p.ref, ids.ref, 0);
        return np.square(np.matmul(rows, p.transpose())).sum();
      };
      return (grad(loss as never) as unknown as typeof loss)(table);
    };
    return textOf(step, [f32(7, 4), i32(5)], options);
  };

  it("that is the last layer too is added to the other, and not to zeros", () => {
    const text = tied();
    expect(checkStableHlo(text).scatter).toBe(1);
    const [, into] = /"stablehlo.scatter"\((%\d+)/.exec(text)!;
    expect(text).toMatch(new RegExp(`${into} = stablehlo.(dot_general|transpose)`));
    expect(text).not.toContain("dense<0.000000000e+0> : tensor<7x4xf32>");
  });

  it("is added up on its own where several devices add up their shares", () => {
    const text = tied({ devices: { count: 2, divided: new Set([1]) } });
    expect(text).toContain("dense<0.000000000e+0> : tensor<7x4xf32>");
  });
});

describe("what a backward pass needs of an activation", () => {
  const gradient = (activation: (a: JaxArray) => JaxArray, rows: number, options?: HloOptions): string => {
    const step = (v: JaxArray, w: JaxArray, a: JaxArray): JaxArray => {
      const loss = (p: JaxArray): JaxArray => np.square(np.matmul(activation(np.matmul(a, p)), w)).sum();
      return (grad(loss as never) as unknown as typeof loss)(v);
    };
    return textOf(step, [f32(8, 64), f32(64, 4), f32(rows, 8)], options);
  };
  it.each<[what: string, fn: (a: JaxArray, b: JaxArray) => JaxArray, a: Aval, b: Aval]>([
    [
      "an array in another shape",
      (a, b) =>
        np
          .tanh(a.reshape([6]))
          .mul(b)
          .sum(),
      f32(2, 3),
      f32(6),
    ],
    ["a product in another shape", (a, b) => np.tanh(np.matmul(a, b).reshape([8])).sum(), f32(2, 3), f32(3, 4)],
    ["a single number", (a, b) => np.tanh(a).mul(3).add(b), f32(), f32()],
    ["one number in a row", (a, b) => np.tanh(a).mul(3).add(b).sum(), f32(1), f32(1)],
  ])("has the types of its graph where tanh is of %s", (_, fn, a, b) => {
    const both = (x: JaxArray, y: JaxArray): JaxArray[] => [
      fn(x.ref, y.ref),
      (grad(fn as never) as unknown as typeof fn)(x, y),
    ];
    expect(() => checkStableHlo(textOf(both, [a, b]))).not.toThrow();
  });

  const tanhs = (text: string): number => text.match(/stablehlo.tanh/g)?.length ?? 0;

  it.each([undefined, "bf16"] as const)("is computed again from the product, in precision %s", (precision) => {
    const text = gradient((a) => nn.gelu(a), 1024, precision && { precision });
    checkStableHlo(text);
    const type = precision === "bf16" ? "bf16" : "f32";
    expect(text.match(/optimization_barrier .*/g)).toEqual([expect.stringContaining(`tensor<1024x64x${type}>`)]);
    expect(tanhs(text)).toBe(2);
  });

  it("is kept where it is small, or cheap to compute", () => {
    const small = gradient((a) => nn.gelu(a), 1023);
    expect(small).not.toContain("optimization_barrier");
    expect(tanhs(small)).toBe(1);
    expect(gradient((a) => nn.relu(a), 1024)).not.toContain("optimization_barrier");
  });
});

test("on several devices, rows are divided and the rest is the same on all", () => {
  const step = ((w: JaxArray, rows: JaxArray) => [w.sub(np.sum(rows, 0))]) as Fn;
  const donated = new Map([[0, 0]]);
  const text = textOf(step, [f32(3), f32(8, 3)], { donated, devices: { count: 4, divided: new Set([1]) } });
  checkStableHlo(text);
  expect(text.split("\n").slice(1, 3)).toEqual([
    `  sdy.mesh @devices = <["rows"=4]>`,
    `  func.func public @main(%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@devices, [{}]>}, %arg1: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@devices, [{"rows"}, {}]>}) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>}) {`,
  ]);
});
