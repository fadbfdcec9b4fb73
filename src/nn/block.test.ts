import { numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { context, gradcheckLayer, noise, put, putAll, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { Model, Tensor, Tensors } from "../core/model.ts";
import { gelu, relu } from "./activations.ts";
import { multiHeadAttention } from "./attention.ts";
import { batchNorm } from "./batch-norm.ts";
import { block } from "./block.ts";
import { embedding } from "./embedding.ts";
import { initKey } from "./key.ts";
import { layerNorm } from "./layer-norm.ts";
import { linear } from "./linear.ts";
import { sequential } from "./sequential.ts";

beforeAll(startWasm);

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

describe("block", () => {
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
