// The model's tensors before the first step. Their names, shapes and types are kept; the values only until an engine has
// them, since a model's init gives the same ones again.
import { type HostArray, type TensorSpec, dtypeOf } from "../core/arrays.ts";
import type { HostTensors } from "../core/model.ts";

/** A model's parameters and buffers on the host. */
export interface HostModel {
  readonly params: HostTensors;
  readonly state: HostTensors;
}

/** Tensors by name, without their numbers. */
export type TensorSpecs = Readonly<Record<string, TensorSpec>>;

export const specsOf = (tensors: Readonly<Record<string, HostArray>>): TensorSpecs =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, { shape: [...tensor.shape], dtype: dtypeOf(tensor) }]),
  );

export class Initial {
  readonly params: TensorSpecs;
  readonly state: TensorSpecs;
  readonly #make: () => HostModel;
  #values: HostModel | undefined;

  constructor(make: () => HostModel) {
    this.#make = make;
    this.#values = make();
    this.params = specsOf(this.#values.params);
    this.state = specsOf(this.#values.state);
  }

  /** The values, for an engine. */
  take(): HostModel {
    const values = this.#values ?? this.#make();
    this.#values = undefined;
    return values;
  }
}
