// The two designs of a layer: GPT-2's, and Llama's with what Qwen, Mistral, SmolLM and Gemma make of it.
import { nn, numpy as np } from "@jax-js/jax";
import type { Tensor } from "../../core/model.ts";
import { sigmoidOf } from "../../nn/activations.ts";
import type { Architecture, LayerArchitecture } from "../config/architecture.ts";
import { attend, headsOf } from "./attention.ts";
import type { KeyValues } from "./key-values.ts";
import type { Pass } from "./pass.ts";
import { rotated } from "./rope-tables.ts";
import type { Weights } from "./weights.ts";

/** All keys and values that this pass sees, from those of its own tokens. */
export type Remember = (fresh: KeyValues) => KeyValues;

/** Nothing is remembered: a pass over whole rows. */
export const onlyFresh: Remember = (fresh) => fresh;

/** [batch, time, width] → the same. Consumes `hidden`, keeps the rest. */
export function applyLayer(
  weights: Weights,
  hidden: Tensor,
  layer: LayerArchitecture,
  pass: Pass,
  remember: Remember,
): Tensor {
  const apply = weights.architecture.design === "gpt2" ? gpt2Layer : llamaLayer;
  return apply(weights, hidden, layer, pass, remember);
}

function gpt2Layer(weights: Weights, hidden: Tensor, _: LayerArchitecture, pass: Pass, remember: Remember): Tensor {
  const { architecture } = weights;
  const qkv = weights.project(weights.norm(hidden.ref, "ln_1"), "attn.c_attn", true);
  const [q, ...fresh] = np.split(qkv, 3, 2).map((part) => headsOf(part, architecture.heads)) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const { k, v } = remember({ k: fresh[0], v: fresh[1] });
  const mixed = attend(architecture, q, k, v, pass.visible(undefined));
  const h = hidden.add(weights.project(mixed, "attn.c_proj", true));
  const inner = activated(weights.project(weights.norm(h.ref, "ln_2"), "mlp.c_fc", true), architecture);
  return h.add(weights.project(inner, "mlp.c_proj", true));
}

function llamaLayer(
  weights: Weights,
  hidden: Tensor,
  layer: LayerArchitecture,
  pass: Pass,
  remember: Remember,
): Tensor {
  const { biases, branchNorms } = weights.architecture;
  let attention = llamaAttention(weights, weights.norm(hidden.ref, "input_layernorm"), layer, pass, remember);
  if (branchNorms) attention = weights.norm(attention, "post_attention_layernorm");
  const h = hidden.add(attention);
  const x = weights.norm(h.ref, branchNorms ? "pre_feedforward_layernorm" : "post_attention_layernorm");
  const gate = activated(weights.project(x.ref, "mlp.gate_proj", biases.feedForward), weights.architecture);
  const inner = gate.mul(weights.project(x, "mlp.up_proj", biases.feedForward));
  const forward = weights.project(inner, "mlp.down_proj", biases.feedForward);
  return h.add(branchNorms ? weights.norm(forward, "post_feedforward_layernorm") : forward);
}

function llamaAttention(
  weights: Weights,
  x: Tensor,
  { window, rope }: LayerArchitecture,
  pass: Pass,
  remember: Remember,
): Tensor {
  const { architecture } = weights;
  const { heads, keyValueHeads, biases, queryKeyNorm } = architecture;
  const project = (from: Tensor, name: string, count: number): Tensor =>
    headsOf(weights.project(from, `self_attn.${name}_proj`, biases.queryKeyValue), count);
  let q = project(x.ref, "q", heads);
  let k = project(x.ref, "k", keyValueHeads);
  const v = project(x, "v", keyValueHeads);
  if (queryKeyNorm) [q, k] = [weights.norm(q, "self_attn.q_norm"), weights.norm(k, "self_attn.k_norm")];
  if (rope) {
    const tables = pass.rope(rope);
    [q, k] = [rotated(q, tables), rotated(k, tables)];
  }
  const seen = remember({ k, v });
  const mixed = attend(architecture, q, seen.k, seen.v, pass.visible(window));
  return weights.project(mixed, "self_attn.o_proj", biases.output);
}

function activated(x: Tensor, { activation }: Architecture): Tensor {
  switch (activation) {
    case "silu":
      return x.ref.mul(sigmoidOf(x));
    case "relu":
      return np.maximum(0, x);
    default:
      return nn.gelu(x, { approximate: activation === "geluTanh" });
  }
}
