// Which outputs lie where an input lay: those whose numbers need the input's at their own place alone, and for the last time.
import { init, nn, numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, test } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import { adamw } from "../../../optim/index.ts";
import type { Graph } from "../../lower/graph.ts";
import type { KernelValue, Statement } from "../kernel.ts";
import { outputsInPlace, temporariesInPlace } from "./in-place.ts";
import { planGraph } from "./plan.ts";

beforeAll(async () => void (await init("wasm")));

/** By output, the input that it takes the place of, if all of these may be overwritten. */
const places = (graph: Graph, given: readonly number[], threads = 1): (number | undefined)[] => {
  const found = outputsInPlace(planGraph(graph, threads), new Set(given));
  return graph.outputs.map((_, output) => found.get(output));
};

test.each([1, 2])("an adamw update: parameter and moments, and not the gradient, %i threads", (threads) => {
  const optimizer = adamw();
  const hyper = Object.keys(optimizer.hyper(optimizer.defaults, 1));
  const graph = lowered(
    (p, g, m, v, ...h) => {
      const scalars = Object.fromEntries(hyper.map((name, i) => [name, h[i]!]));
      const [first, second] = optimizer.slots as [string, string];
      const [next, slots] = optimizer.leaf(p, g, { [first]: m, [second]: v }, scalars);
      return [next, ...Object.values(slots)];
    },
    ...[0, 1, 2, 3].map(() => f32(512, 300)),
    ...hyper.map(() => f32()),
  );
  expect(new Set(places(graph, [0, 2, 3], threads))).toEqual(new Set([0, 2, 3]));
  expect(places(graph, [2], threads).filter((place) => place !== undefined)).toEqual([2]);
  expect(places(graph, [], threads)).toEqual([undefined, undefined, undefined]);
});

test("one place of a cache is replaced", () => {
  const graph = lowered(
    (cache, x, at) => np.where(np.arange(8).reshape([8, 1]).equal(at), x, cache),
    f32(8, 4),
    f32(4),
    f32(),
  );
  expect(places(graph, [0])).toEqual([0]);
});

describe("in place", () => {
  test.each<[string, () => Graph]>([
    ["a chain of maps", () => lowered((x) => np.exp(x.mul(2)).add(1), f32(5, 6))],
    ["a softmax, whose sums are complete before it writes", () => lowered((x) => nn.softmax(x, -1), f32(6, 10))],
    ["after a product with it", () => lowered((x, y) => np.matmul(x.ref, y).sum().add(x), f32(16, 16), f32(16, 16))],
    ["after sums of its columns", () => lowered((x) => x.ref.sub(x.sum(0, { keepdims: true })), f32(6, 10))],
    ["another shape of as many numbers", () => lowered((x) => x.reshape([30]).mul(2), f32(5, 6))],
  ])("%s", (_, graph) => expect(places(graph(), [0])).toEqual([0]));
});

describe("not in place", () => {
  test.each<[string, () => Graph]>([
    ["what is read at other places too", () => lowered((x) => x.ref.add(x.transpose()), f32(6, 6))],
    ["a transposed one", () => lowered((x) => x.transpose().mul(2), f32(6, 6))],
    ["what is read in another order", () => lowered((x) => np.flip(x).mul(2), f32(6))],
    ["rows that are looked up", () => lowered((x) => np.take(x, np.arange(6).mul(5).mod(6), 0), f32(6, 6))],
    ["fewer numbers", () => lowered((x) => x.slice([0, 3]).mul(2), f32(6))],
    ["a product", () => lowered((x, y) => np.matmul(x, y), f32(6, 6), f32(6, 6))],
  ])("%s", (_, graph) => expect(places(graph(), [0])).toEqual([undefined]));
});

describe("of two outputs that one input would do for", () => {
  const both = (first: (x: Tensor) => Tensor, second: (x: Tensor) => Tensor): Graph =>
    lowered((x) => [first(x.ref), second(x)], f32(6, 10));

  test("one has it", () => {
    expect(
      places(
        both(
          (x) => x.add(1),
          (x) => x.mul(2),
        ),
        [0],
      ),
    ).toEqual([0, undefined]);
  });

  test("the one that is stored after the input was read for the other", () => {
    const double = (x: Tensor): Tensor => x.mul(2);
    const share = (x: Tensor): Tensor => x.ref.div(double(x).sum(-1, { keepdims: true }));
    expect(places(both(double, share), [0])).toEqual([undefined, 0]);
  });
});

describe("between the steps", () => {
  const taken = (graph: Graph): number => temporariesInPlace(planGraph(graph, 2)).size;
  const [x, weight] = [f32(64, 64), f32(64, 64)];

  test("what is made of a product place by place lies where that lay", () => {
    expect(taken(lowered((a, w) => np.matmul(np.exp(np.matmul(a, w.ref)), w), x, weight))).toBe(1);
    expect(taken(lowered((a, w) => np.matmul(nn.softmax(np.matmul(a, w.ref), -1), w), x, weight))).toBe(1);
  });

  test("not of one that is used again, or looked at otherwise", () => {
    const again = (a: Tensor, w: Tensor): Tensor => {
      const product = np.matmul(a, w.ref);
      return np.matmul(np.matmul(np.exp(product.ref), w), product);
    };
    const turned = (a: Tensor, w: Tensor): Tensor => {
      const product = np.matmul(a, w.ref);
      return np.matmul(np.exp(product.ref.add(np.transpose(product))), w);
    };
    expect(taken(lowered(again, x, weight))).toBe(0);
    expect(taken(lowered(turned, x, weight))).toBe(0);
  });
});

describe("an input that the kernel", () => {
  const access = (buffer: number) => ({ buffer, offset: 0, outer: [1], inner: [] });
  const store = (buffer: number): Statement => ({ kind: "store", inner: [], value: 0, to: access(buffer) });
  const taken = (value: KernelValue, statements: Statement[]): number => {
    const kernel = { name: "", buffers: 2, outer: [6], values: [value], statements };
    const steps = [{ kind: "kernel", kernel, buffers: [0, 1] }] as const;
    const buffers = (["input", "output"] as const).map((kind) => ({ length: 6, source: { kind, index: 0 } }));
    return outputsInPlace({ buffers, steps }, new Set([0])).size;
  };
  const load: KernelValue = { kind: "load", from: access(0), dtype: "float32" };

  test("reads is taken", () => expect(taken(load, [store(1)])).toBe(1));
  test("writes is not", () => expect(taken(load, [store(0), store(1)])).toBe(0));
  test("does not read is not", () =>
    expect(taken({ kind: "literal", value: 1, dtype: "float32" }, [store(1)])).toBe(0));
});
