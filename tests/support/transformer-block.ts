// One block of a small transformer: causal attention and a feed-forward net, each behind a layer norm.
import type { Tensor } from "hookline";
import { block, gelu, layerNorm, linear, multiHeadAttention, sequential } from "hookline/nn";

export const transformerBlock = (features: number, heads: number) =>
  block(
    {
      ln1: layerNorm(features),
      attn: multiHeadAttention(features, heads, { causal: true }),
      ln2: layerNorm(features),
      mlp: sequential(linear(features, 2 * features), gelu(), linear(2 * features, features)),
    },
    ({ ln1, attn, ln2, mlp }, x: Tensor) => {
      const h = x.ref.add(attn(ln1(x)));
      return h.ref.add(mlp(ln2(h)));
    },
  );
