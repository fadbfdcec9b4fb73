// The parameters of a layer by their names in it.
import { lax, numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { ApplyContext, Tensor, Tensors } from "../../core/model.ts";
import { dropout } from "../../nn/basic.ts";
import { layerNorm, rmsNorm } from "../../nn/norms.ts";
import type { Architecture } from "../config/architecture.ts";
import { type LoraConfig, loraScale, MAGNITUDE, SHORTEST_ROW } from "./lora.ts";
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
    const y = this.#adapted(x, this.get(`${name}.weight`), name);
    return bias ? y.add(this.get(`${name}.bias`)) : y;
  }

  /** x Wᵀ with what an adapter makes of it, if this matrix has one. Consumes `x` and `matrix`. */
  #adapted(x: Tensor, matrix: Tensor, name: string): Tensor {
    const [a, b, magnitude] = ["lora_A.weight", "lora_B.weight", MAGNITUDE].map(
      (end) => this.#params[`${name}.${end}`],
    );
    if (!a || !b || !this.#lora) return this.#times(x, matrix);
    const [scale, share] = [loraScale(this.#lora), this.#lora.dropout];
    const seen = dropout(share).apply({}, x.ref, this.ctx) as Tensor;
    // The factor is on the narrow side: on the other one, the gradient of the whole output would be multiplied once more.
    const more = np.inner(np.inner(seen.ref, a.ref).mul(scale), b.ref);
    if (!magnitude) {
      seen.dispose();
      return this.#times(x, matrix).add(more);
    }
    // The lengths that the rows would have count as constants in gradients, as in PEFT and in DoRA's paper, section 4.3.
    const change = lax.stopGradient(np.matmul(b.ref, a.ref)).mul(scale);
    const length = np.sqrt(np.square(change.add(this.#rows(matrix.ref))).sum(1));
    const factor = magnitude.ref.div(np.maximum(length, SHORTEST_ROW));
    if (share === 0 || !this.ctx.train) {
      seen.dispose();
      return this.#times(x, matrix).add(more).mul(factor);
    }
    // What the adapter does not see keeps the lengths of the base.
    const scaled = this.#times(seen, matrix.ref).mul(factor.ref.sub(1));
    return this.#times(x, matrix).add(scaled).add(more.mul(factor));
  }

  #times(x: Tensor, matrix: Tensor): Tensor {
    return this.architecture.design === "gpt2" ? np.matmul(x, matrix) : np.inner(x, matrix);
  }

  /** [out, in]. */
  #rows(matrix: Tensor): Tensor {
    return this.architecture.design === "gpt2" ? matrix.transpose() : matrix;
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
