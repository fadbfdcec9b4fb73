// Three models here and, by name, in formats-torch.py: what goes in, and what comes out for given weights.
import { jit, numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../src/core/arrays.ts";
import type { HostTensors, Model, Tensor, Tensors } from "../../src/core/model.ts";
import * as nn from "../../src/nn/index.ts";
import { context, ints, noise, put, putAll, read, startWasm } from "../support/gradcheck.ts";

const [VOCABULARY, TIME, FEATURES] = [17, 8, 16];

const decoder = (): Model<Tensor, Tensor> =>
  nn.block(
    {
      ln1: nn.layerNorm(FEATURES),
      attn: nn.multiHeadAttention(FEATURES, 2, { causal: true }),
      ln2: nn.layerNorm(FEATURES),
      mlp: nn.sequential(nn.linear(FEATURES, 4 * FEATURES), nn.gelu(), nn.linear(4 * FEATURES, FEATURES)),
    },
    ({ ln1, attn, ln2, mlp }, x: Tensor) => {
      const h = x.ref.add(attn(ln1(x)));
      return h.ref.add(mlp(ln2(h)));
    },
  );

interface Named {
  readonly model: Model<Tensor, Tensor>;
  readonly input: HostArray;
}

export const models: Readonly<Record<string, Named>> = {
  mlp: {
    model: nn.sequential(nn.linear(6, 16), nn.tanh(), nn.linear(16, 16), nn.gelu(), nn.linear(16, 2)),
    input: noise([4, 6], 6),
  },
  cnn: {
    model: nn.sequential(
      // No bias before the norm, which would take it out again and leave its gradient to rounding noise.
      nn.conv2d(3, 4, { kernel: 3, padding: 1, bias: false }),
      nn.batchNorm(4),
      nn.relu(),
      nn.maxPool2d(2),
      nn.flatten(),
      nn.linear(64, 5),
    ),
    input: noise([2, 3, 8, 8], 5),
  },
  transformer: {
    model: nn.block(
      {
        tok: nn.embedding(VOCABULARY, FEATURES),
        pos: nn.embedding(TIME, FEATURES),
        blocks: nn.sequential(decoder(), decoder()),
        ln: nn.layerNorm(FEATURES),
        head: nn.linear(FEATURES, VOCABULARY, { bias: false }),
      },
      ({ tok, pos, blocks, ln, head }, x: Tensor) => head(ln(blocks(tok(x).add(pos(np.arange(TIME)))))),
    ),
    input: ints(
      Array.from({ length: 2 * TIME }, (_, i) => (5 * i) % VOCABULARY),
      [2, TIME],
    ),
  },
};

/** Parameters and buffers, the buffers with numbers of their own so that a lost one shows; variances are positive. */
export function weightsOf({ model }: Named): HostTensors {
  const state = Object.entries(model.initState?.() ?? {}).map(([name, array], i): [string, HostArray] => {
    const least = name.endsWith("var") ? 1.5 : 0;
    const fresh = { ...array, data: noise(array.shape, 50 + i).data.map((v) => least + v) };
    return [name, array.data instanceof Float32Array ? fresh : array];
  });
  return { ...model.init(nn.initKey(8)), ...Object.fromEntries(state) };
}

/** The outputs for the input above, in evaluation. */
export async function outputsOf({ model, input }: Named, weights: HostTensors): Promise<number[]> {
  await startWasm();
  const buffers = Object.keys(model.initState?.() ?? {});
  const pick = (state: boolean): HostTensors =>
    Object.fromEntries(Object.entries(weights).filter(([name]) => buffers.includes(name) === state));
  const forward = jit((params: Tensors, state: Tensors, x: Tensor) => {
    const result = model.apply(params, x, context(false, state));
    return Array.isArray(result) ? result[0] : result;
  });
  return read(forward(putAll(pick(false)), putAll(pick(true)), put(input)));
}
