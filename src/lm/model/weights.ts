// The parameters of a layer by their names in it.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { ApplyContext, Tensor, Tensors } from "../../core/model.ts";
import { layerNorm, rmsNorm } from "../../nn/norms.ts";
import type { Architecture } from "../config/architecture.ts";

/** A layer's own parameters, and what it does with them. */
export class Weights {
  readonly architecture: Architecture;
  readonly ctx: ApplyContext;
  readonly #params: Tensors;

  constructor(architecture: Architecture, params: Tensors, ctx: ApplyContext) {
    this.architecture = architecture;
    this.ctx = ctx;
    this.#params = params;
  }

  /** A reference of its own. */
  get(name: string): Tensor {
    const found = this.#params[name];
    if (found) return found.ref;
    throw new ProgramError(
      `The language model has no parameter \`${name}\`.${didYouMean(name, Object.keys(this.#params))}`,
    );
  }

  /** x Wᵀ + b, or x W + b in GPT-2, whose files have matrices [in, out]. Consumes `x`. */
  project(x: Tensor, name: string, bias: boolean): Tensor {
    const matrix = this.get(`${name}.weight`);
    const y = this.architecture.design === "gpt2" ? np.matmul(x, matrix) : np.inner(x, matrix);
    return bias ? y.add(this.get(`${name}.bias`)) : y;
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
