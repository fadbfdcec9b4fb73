// Tensors that a hook keeps on the engine: snapshots of the parameters and what it computes from them.
import type { HostArray } from "./arrays.ts";
import type { HostTensors, Tensors } from "./model.ts";

/** Tensors that stay with the engine. Who made them frees them; what is left is freed with the trainer. */
export interface DeviceTensors {
  readonly names: readonly string[];
  /** True once they are gone, for example with the trainer's engine. */
  readonly freed: boolean;
  /** A host copy of one. */
  get(name: string): Promise<HostArray>;
  /** Host copies of all. */
  read(): Promise<HostTensors>;
  free(): void;
}

/** The parameters as of the last finished step; during an evaluation those that it uses. */
export interface ParamsView {
  readonly names: readonly string[];
  /** Names of the model's buffers, such as the running statistics of `batchNorm`. */
  readonly buffers: readonly string[];
  /** How often the parameters were put in place from outside: by `ctx.setParams` or `loadStateDict`, not by steps. */
  readonly version: number;
  /** A host copy of one parameter or buffer. */
  get(name: string): Promise<HostArray>;
  /** A copy that stays on the engine: of all parameters, or of the parameters and buffers of these names. */
  snapshot(names?: readonly string[]): DeviceTensors;
  /** Brings host tensors to the engine, for a hook that keeps some. */
  put(tensors: HostTensors): DeviceTensors;
  /**
   * A pure jax-js function of the parameters and more tensors, compiled once per function and run on the engine.
   * Numbers that change go in as arguments, not through the closure: `(params, ema, decay) => …` with `compute(fn, ema, 0.99)`.
   */
  compute(fn: ComputeFn, ...inputs: readonly (DeviceTensors | number)[]): Promise<DeviceTensors>;
}

/** `inputs` are maps of tensors for DeviceTensors, and `{ value }` with a scalar for numbers. */
export type ComputeFn = (params: Tensors, ...inputs: Tensors[]) => Tensors;
