// What a training pass of a stack has to compute for a set of trained parameters: down to which layer gradients are wanted,
// and which parameters outside the layers the embedding and the head use.
import type { Tensor, Tensors } from "../../core/model.ts";
import type { Buffer } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { context } from "../programs/programs.ts";
import { type Division, divide, standIn, usedBy } from "./divide.ts";
import type { StackSpec } from "./layer-programs.ts";

/** The inputs of a pass. They stay their owner's. */
export interface PassInputs {
  readonly train: Buffers;
  readonly fixed: Buffers;
  readonly batch: Buffers;
  readonly key: Buffer;
}

/** The way of a batch through the stack. */
export interface Route {
  readonly train: Division;
  readonly fixed: Division;
  /** The lowest layer that the backward pass goes through: if it is their number, none. */
  readonly lowest: number;
  readonly trains: boolean;
}

/** The route of an evaluation: all parameters are fixed, and no hidden states are kept. */
export const evalRoute = ({ stack: { layers } }: StackSpec, names: readonly string[]): Route => ({
  train: divide(layers, []),
  fixed: divide(layers, names),
  lowest: layers.length,
  trains: false,
});

export class PassPlan implements Route {
  readonly trains = true;
  readonly train: Division;
  readonly fixed: Division;
  readonly lowest: number;
  /** Trained parameters that the embedding uses. */
  readonly embedding: readonly string[];
  readonly #spec: StackSpec;
  #head: readonly string[] | undefined;

  constructor(spec: StackSpec, inputs: PassInputs) {
    const { layers } = spec.stack;
    this.#spec = spec;
    this.train = divide(layers, Object.keys(inputs.train));
    this.fixed = divide(layers, Object.keys(inputs.fixed));
    this.embedding = this.#used(inputs, (params, batch, ctx) => spec.stack.embed(params, batch, ctx));
    const first = this.train.layers.findIndex((names) => names.length > 0);
    this.lowest = this.embedding.length > 0 ? 0 : first < 0 ? layers.length : first;
  }

  /** Trained parameters that the head and the loss use. */
  head(inputs: PassInputs, hidden: Buffer): readonly string[] {
    return (this.#head ??= this.#used(
      inputs,
      (params, batch, ctx) => this.#spec.stack.head(params, standIn(hidden), batch, ctx, this.#spec.loss).loss,
    ));
  }

  #used(
    { train, fixed, batch, key }: PassInputs,
    fn: (params: Tensors, batch: Tensors, ctx: ReturnType<typeof context>) => Tensor,
  ): string[] {
    const some = (names: readonly string[], all: Buffers): Buffers =>
      Object.fromEntries(names.map((name) => [name, all[name]!]));
    const trained = some(this.train.rest, train);
    if (this.train.rest.length === 0) return [];
    const standIns = (buffers: Buffers): Tensors =>
      Object.fromEntries(Object.entries(buffers).map(([name, buffer]) => [name, standIn(buffer)]));
    return usedBy(trained, (params) =>
      fn(
        { ...standIns(some(this.fixed.rest, fixed)), ...params },
        standIns(batch),
        context(this.#spec, true, {}, standIn(key)),
      ),
    );
  }
}
