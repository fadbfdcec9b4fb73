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
import type { HostTensors } from "../core/model.ts";
import { multiHeadAttention } from "./attention.ts";
import { initKey } from "./key.ts";

beforeAll(startWasm);

const params: HostTensors = {
  in_proj_weight: noise([12, 4], 1),
  in_proj_bias: noise([12], 2),
  "out_proj.weight": noise([4, 4], 3),
  "out_proj.bias": noise([4], 4),
};

function reference(x: ArrayLike<number>, batch: number, time: number, causal: boolean, bias: boolean): number[] {
  const [features, heads] = [4, 2];
  const size = features / heads;
  const project = (row: (k: number) => number, weight: string, offset: string, o: number) =>
    [0, 1, 2, 3].reduce(
      (sum, k) => sum + row(k) * params[weight]!.data[o * 4 + k]!,
      bias ? params[offset]!.data[o]! : 0,
    );
  return fill([batch, time, features], ([b, t, f]) => {
    const qkv = (s: number, o: number) =>
      project((k) => x[(b! * time + s) * 4 + k]!, "in_proj_weight", "in_proj_bias", o);
    const mixed = (g: number) => {
      const head = Math.floor(g / size) * size;
      const seen = Array.from({ length: causal ? t! + 1 : time }, (_, s) => s);
      const scores = seen.map((s) => {
        let dot = 0;
        for (let i = 0; i < size; i++) dot += qkv(t!, head + i) * qkv(s, features + head + i);
        return Math.exp(dot / Math.sqrt(size));
      });
      const total = scores.reduce((a, c) => a + c);
      return seen.reduce((sum, s) => sum + (scores[s]! / total) * qkv(s, 2 * features + g), 0);
    };
    return project(mixed, "out_proj.weight", "out_proj.bias", f!);
  });
}

const options = [{}, { causal: true }, { bias: false }];

it.each(options)("equals its definition: %o", (option) => {
  const { causal = false, bias = true } = option as { causal?: boolean; bias?: boolean };
  const x = noise([2, 3, 4], 9);
  const own = bias ? params : { in_proj_weight: params.in_proj_weight!, "out_proj.weight": params["out_proj.weight"]! };
  const y = applyLayer(multiHeadAttention(4, 2, option), own, x);
  expect(y.shape).toEqual([2, 3, 4]);
  expect(maxError(read(y), reference(x.data, 2, 3, causal, bias))).toBeLessThan(1e-5);
});

it.each([...options, { causal: true, dropout: 0.3 }])("has the gradients of finite differences: %o", (option) => {
  expect(
    gradcheckLayer(multiHeadAttention(4, 2, option), noise([1, 3, 4], 9), { train: true, tolerance: 2e-2 }),
  ).toEqual([]);
});

it("starts as PyTorch's does", () => {
  const init = multiHeadAttention(16, 4).init(initKey(0));
  expect(Object.keys(init)).toEqual(["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]);
  const largest = (name: string) => Math.max(...Array.from(init[name]!.data, Math.abs));
  expect(init.in_proj_weight!.shape).toEqual([48, 16]);
  expect(largest("in_proj_weight")).toBeCloseTo(Math.sqrt(6 / 64), 1);
  expect(largest("out_proj.weight")).toBeCloseTo(0.25, 1);
  expect([largest("in_proj_bias"), largest("out_proj.bias")]).toEqual([0, 0]);
});

it("explains wrong sizes and shapes", () => {
  expect(() => multiHeadAttention(6, 4)).toThrow("Expected `features` (6) to be a multiple of `heads` (4)");
  expect(() => multiHeadAttention(4, 2).apply(putAll(params), put(noise([3, 4])), context())).toThrow(
    "multiHeadAttention(4, 2): expected [batch, time, 4], got [3, 4]",
  );
});
