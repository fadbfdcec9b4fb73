import { numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, expectTypeOf, it } from "vitest";
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
import type { Model, Tensor, Tensors } from "../core/model.ts";
import { gelu, relu } from "./activations.ts";
import { multiHeadAttention } from "./attention.ts";
import { batchNorm, layerNorm } from "./norms.ts";
import { block, residual, sequential } from "./block.ts";
import { dropout, embedding, flatten, linear } from "./basic.ts";
import { initKey } from "./key.ts";

beforeAll(startWasm);

describe("block", () => {
  const transformerBlock = (d: number, heads: number) =>
    block(
      {
        ln1: layerNorm(d),
        attn: multiHeadAttention(d, heads, { causal: true }),
        ln2: layerNorm(d),
        mlp: sequential({ fc: linear(d, 2 * d), act: gelu(), proj: linear(2 * d, d) }),
      },
      ({ ln1, attn, ln2, mlp }, x: Tensor) => {
        const h = x.ref.add(attn(ln1(x)));
        return h.ref.add(mlp(ln2(h)));
      },
    );

  const gpt = block(
    {
      wte: embedding(7, 4),
      pos: (key) => key.normal([3, 4], 0, 0.02),
      blocks: sequential(transformerBlock(4, 2), transformerBlock(4, 2)),
      head: linear(4, 7, { bias: false }),
    },
    ({ wte, pos, blocks, head }, ids: Tensor) => head(blocks(wte(ids).add(pos()))),
  );

  it("names parameters by their path", () => {
    const names = Object.keys(gpt.init(initKey(0)));
    expect(names.slice(0, 6)).toEqual([
      "wte.weight",
      "pos",
      "blocks.0.ln1.weight",
      "blocks.0.ln1.bias",
      "blocks.0.attn.in_proj_weight",
      "blocks.0.attn.in_proj_bias",
    ]);
    expect(names).toContain("blocks.1.mlp.proj.bias");
    expect(names.at(-1)).toBe("head.weight");
  });

  it("draws each child from a key of its own", () => {
    const params = sequential(linear(3, 3), linear(3, 3)).init(initKey(0));
    expect(params["0.weight"]!.data).not.toEqual(params["1.weight"]!.data);
  });

  it("has the gradients of finite differences", () => {
    expect(gradcheckLayer(transformerBlock(4, 2), noise([1, 3, 4]), { tolerance: 2e-2 })).toEqual([]);
    expect(gradcheckLayer(gpt, { data: Int32Array.of(1, 6, 1), shape: [1, 3] }, { tolerance: 2e-2 })).toEqual([]);
  });

  it("types its calls by its children", () => {
    expectTypeOf(gpt).toEqualTypeOf<Model<Tensor, Tensor>>();
    const several = block({ a: linear(2, 2) }, ({ a }, x: { left: Tensor }) => ({ out: a(x.left) }));
    expectTypeOf(several).toEqualTypeOf<Model<{ left: Tensor }, { out: Tensor }>>();
  });

  it("may call a child never, or twice with shared parameters", () => {
    const shared = block({ fc: linear(2, 2), unused: linear(3, 3) }, ({ fc }, x: Tensor) => fc(np.tanh(fc(x))));
    expect(gradcheckLayer(shared, noise([1, 2]))).toEqual([]);
  });

  it("refuses children that are no models, and dots in names", () => {
    expect(() => block({ a: 3 as never }, (_, x: Tensor) => x)).toThrow(
      "block: Expected `a` to be a model, got `3` (number)",
    );
    expect(() => block({ "a.b": relu() }, (_, x: Tensor) => x)).toThrow('without dots, got "a.b"');
  });

  it("updates the state of a child twice when it is called twice", () => {
    const twice = block({ bn: batchNorm(2) }, ({ bn }, x: Tensor) => bn(bn(x)));
    const params = putAll(twice.init(initKey(0)));
    const [, state] = twice.apply(params, put(noise([4, 2])), context(true, putAll(twice.initState!()))) as [
      Tensor,
      Tensors,
    ];
    expect(read(state["bn.num_batches_tracked"]!)).toEqual([2]);
  });
});

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

describe("residual", () => {
  it("adds the input and keeps the inner names", () => {
    const layer = residual(linear(3, 3));
    const params = layer.init(initKey(0));
    expect(Object.keys(params)).toEqual(["weight", "bias"]);
    const x = noise([2, 3]);
    const plain = read(applyLayer(linear(3, 3), params, x));
    expect(read(applyLayer(layer, params, x))).toEqual(plain.map((v, i) => Math.fround(v + x.data[i]!)));
    expect(gradcheckLayer(layer, x)).toEqual([]);
  });
});
