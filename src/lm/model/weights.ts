// The parameters of a layer by their names in it.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { ApplyContext, Tensor, Tensors } from "../../core/model.ts";
import { dropout } from "../../nn/basic.ts";
import { layerNorm, rmsNorm } from "../../nn/norms.ts";
import type { Architecture } from "../config/architecture.ts";
import { type LoraConfig, loraScale } from "./lora.ts";
import { matrixIn } from "./packed.ts";

/** A layer's own parameters, and what it does with them. */
export class Weights {
  readonly architecture: Architecture;
  readonly ctx: ApplyContext;
  readonly #params: Tensors;
  readonly #lora: LoraConfig | undefined;

  constructor(architecture: Architecture, params: Tensors, ctx: ApplyContext, lora?: LoraConfig) {
    this.architecture = architecture;
    this.ctx = ctx;
    this.#params = params;
    this.#lora = lora;
  }

  /** A reference of its own. */
  get(name: string): Tensor {
    const found = matrixIn(this.#params, name);
    if (found) return found;
    throw new ProgramError(
      `The language model has no parameter \`${name}\`.${didYouMean(name, Object.keys(this.#params))}`,
    );
  }

  /** x Wᵀ + b, or x W + b in GPT-2, whose files have matrices [in, out]. Consumes `x`. */
  project(x: Tensor, name: string, bias: boolean): Tensor {
    const matrix = this.get(`${name}.weight`);
    const more = this.#adapted(x, name);
    let y = this.architecture.design === "gpt2" ? np.matmul(x, matrix) : np.inner(x, matrix);
    if (bias) y = y.add(this.get(`${name}.bias`));
    return more ? y.add(more) : y;
  }

  /** What an adapter adds, if this matrix has one. Keeps `x`. */
  #adapted(x: Tensor, name: string): Tensor | undefined {
    const [a, b] = [this.#params[`${name}.lora_A.weight`], this.#params[`${name}.lora_B.weight`]];
    if (!a || !b || !this.#lora) return undefined;
    const seen = dropout(this.#lora.dropout).apply({}, x.ref, this.ctx) as Tensor;
    // The factor is on the narrow side: on the other one, the gradient of the whole output would be multiplied once more.
    return np.inner(np.inner(seen, a.ref).mul(loraScale(this.#lora)), b.ref);
  }

  norm(x: Tensor, name: string): Tensor {
    const { design, epsilon: eps, onePlusNorms } = this.architecture;
    const weight = this.get(`${name}.weight`);
    const features = weight.shape[0]!;
    if (design === "gpt2") {
      const params = { weight, bias: this.get(`${name}.bias`) };
      return layerNorm(features, { eps }).apply(params, x, this.ctx) as Tensor;
    }
    return rmsNorm(features, { eps }).apply({ weight: onePlusNorms ? weight.add(1) : weight }, x, this.ctx) as Tensor;
  }

  /** A layer has taken its own references. */
  dispose(): void {
    for (const param of Object.values(this.#params)) param.dispose();
  }
}
