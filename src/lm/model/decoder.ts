// A whole decoder: embedding, layers and head, as one function of rows, as a stack, and with a cache.
import { numpy as np } from "@jax-js/jax";
import type { ApplyContext, Outputs, Stack, Tensor, TensorBatch, Tensors } from "../../core/model.ts";
import { embedding } from "../../nn/basic.ts";
import { deferredLogits } from "../../nn/deferred-logits.ts";
import { tapChild } from "../../nn/tap.ts";
import type { Architecture, LayerArchitecture } from "../config/architecture.ts";
import { type DecodeCache, type KeyValues, written } from "./key-values.ts";
import { applyLayer, onlyFresh, type Remember } from "./layers.ts";
import type { LoraConfig } from "./lora.ts";
import type { Naming } from "./parameters.ts";
import { cachedPass, type Pass, rowPass } from "./pass.ts";
import { Weights } from "./weights.ts";

/** Outside of training nothing is random, and no decoder has state. */
const inference: ApplyContext = {
  train: false,
  state: {},
  loader: "generate",
  key: {
    next: () => {
      throw new Error("a decoder draws no random numbers outside of training");
    },
  },
};

/** A decoder as functions of its parameters. `params` are kept unless it says otherwise. */
export class Decoder implements Stack {
  readonly architecture: Architecture;
  readonly layers: Stack["layers"];
  readonly #naming: Naming;
  readonly #lora: LoraConfig | undefined;
  /** Layers that differ in nothing but the values of their parameters are of one kind. */
  readonly #kinds = new Map<string, LayerArchitecture>();

  /** `trained` are the parameters of an adapter; without one everything is trained. */
  constructor(architecture: Architecture, naming: Naming, lora?: LoraConfig, trained: readonly string[] = []) {
    this.architecture = architecture;
    this.#naming = naming;
    this.#lora = lora;
    this.layers = architecture.layers.map((layer, index) => {
      const prefix = naming.layer(index);
      const own = trained.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
      const kind = JSON.stringify([layer, own]);
      if (!this.#kinds.has(kind)) this.#kinds.set(kind, layer);
      return { prefix, kind };
    });
  }

  /** Consumes `params` and `inputs`, as models do. */
  apply(params: Tensors, inputs: TensorBatch, ctx: ApplyContext): Outputs {
    const pass = rowPass(this.architecture, inputs);
    let hidden = this.#embed(params, inputs.ids!.ref, pass, ctx);
    for (const { prefix, kind } of this.layers)
      hidden = tapChild(prefix.slice(0, -1), () =>
        this.#layer(kind, partOf(params, prefix), hidden, pass, onlyFresh, ctx),
      );
    const outputs = this.#head(params, hidden, ctx);
    pass.dispose();
    for (const array of [...Object.values(params), ...Object.values(inputs)]) array?.dispose();
    return outputs;
  }

  /** Keeps `inputs`; consumes the rest, here and in `layer` and `head`. */
  embed(params: Tensors, inputs: TensorBatch, ctx: ApplyContext): Tensor {
    const pass = rowPass(this.architecture, inputs);
    const hidden = this.#embed(params, inputs.ids!.ref, pass, ctx);
    for (const param of Object.values(params)) param.dispose();
    return hidden;
  }

  layer(kind: string, params: Tensors, hidden: Tensor, inputs: TensorBatch, ctx: ApplyContext): Tensor {
    const pass = rowPass(this.architecture, inputs);
    const next = this.#layer(kind, params, hidden, pass, onlyFresh, ctx);
    pass.dispose();
    return next;
  }

  head(params: Tensors, hidden: Tensor, ctx: ApplyContext): Outputs {
    const outputs = this.#head(params, hidden, ctx);
    for (const param of Object.values(params)) param.dispose();
    return outputs;
  }

  /** Continues the rows in a cache. Keeps `params`; consumes the rest. */
  decode(params: Tensors, ids: Tensor, cache: DecodeCache): { hidden: Tensor; cache: KeyValues[] } {
    const pass = cachedPass(this.architecture, ids, cache);
    const next: KeyValues[] = [];
    let hidden = this.#embed(params, ids, pass, inference);
    for (const [i, { prefix, kind }] of this.layers.entries()) {
      const known = cache.keyValues[i]!;
      const remember: Remember = (fresh) => {
        const k = written(known.k, fresh.k, cache.starts);
        const v = written(known.v, fresh.v, cache.starts);
        next.push({ k: k.ref, v: v.ref });
        return { k, v };
      };
      hidden = this.#layer(kind, partOf(params, prefix), hidden, pass, remember, inference);
    }
    pass.dispose();
    cache.starts.dispose();
    return { hidden, cache: next };
  }

  /** [..., vocabulary] of what `decode` returns. Keeps `params`. */
  logits(params: Tensors, hidden: Tensor): Tensor {
    return this.#capped(np.inner(this.#normed(params, hidden, inference), params[this.#naming.head]!.ref));
  }

  #embed(params: Tensors, ids: Tensor, { positions }: Pass, ctx: ApplyContext): Tensor {
    const { vocabularySize, width, contextLength, embeddingScale } = this.architecture;
    const look = (name: string, count: number, index: Tensor): Tensor =>
      embedding(count, width).apply({ weight: params[name]!.ref }, index, ctx) as Tensor;
    const time = ids.shape[1]!;
    const hidden = tapChild(this.#naming.embedding.replace(/\.weight$/, ""), () =>
      look(this.#naming.embedding, vocabularySize, ids),
    );
    const places = this.#naming.positions;
    if (places === undefined) return embeddingScale === 1 ? hidden : hidden.mul(embeddingScale);
    const index = positions?.ref ?? np.arange(time).astype(np.int32).reshape([1, time]);
    return hidden.add(look(places, contextLength, index));
  }

  #layer(kind: string, params: Tensors, hidden: Tensor, pass: Pass, remember: Remember, ctx: ApplyContext): Tensor {
    const weights = new Weights(this.architecture, params, ctx, this.#lora);
    const next = applyLayer(weights, hidden, this.#kinds.get(kind)!, pass, remember);
    weights.dispose();
    return next;
  }

  /** A soft cap has to see the logits; without one they are left to the loss. */
  #head(params: Tensors, hidden: Tensor, ctx: ApplyContext): Outputs {
    const [x, weight] = [this.#normed(params, hidden, ctx), params[this.#naming.head]!.ref];
    return this.architecture.logitCap === undefined ? deferredLogits(x, weight) : this.#capped(np.inner(x, weight));
  }

  #capped(logits: Tensor): Tensor {
    const { logitCap } = this.architecture;
    return logitCap === undefined ? logits : np.tanh(logits.mul(1 / logitCap)).mul(logitCap);
  }

  #normed(params: Tensors, hidden: Tensor, ctx: ApplyContext): Tensor {
    const name = this.#naming.norm;
    const own = Object.fromEntries(
      ["weight", "bias"].flatMap((part) => {
        const param = params[`${name}.${part}`];
        return param ? [[`${name}.${part}`, param]] : [];
      }),
    );
    return new Weights(this.architecture, own, ctx).norm(hidden, name);
  }
}

/** References to the parameters of a layer, by their names in it. */
function partOf(params: Tensors, prefix: string): Tensors {
  const own = Object.entries(params).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, param]) => [name.slice(prefix.length), param.ref]));
}
