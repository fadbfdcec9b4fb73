// The control vector: every number that may change from step to step goes into a program through one small input.
import type { Tensor, Tensors } from "../../core/model.ts";

/** Gives each named number a place in one Float32Array, and reads it back by name inside a program. */
export class ControlLayout {
  readonly #index = new Map<string, number>();
  readonly values: Float32Array<ArrayBuffer>;

  constructor(names: Iterable<string>) {
    for (const name of new Set(names)) this.#index.set(name, this.#index.size);
    this.values = new Float32Array(this.#index.size);
  }

  set(name: string, value: number): void {
    this.values[this.#index.get(name)!] = value;
  }

  /** The scalar of that name inside a program. */
  get(control: Tensor, name: string): Tensor {
    return control.ref.slice(this.#index.get(name)!);
  }

  /** All scalars under a prefix, as `h` of an optimizer's rule. */
  group(control: Tensor, prefix: string): Tensors {
    const names = [...this.#index.keys()].filter((name) => name.startsWith(prefix));
    return Object.fromEntries(names.map((name) => [name.slice(prefix.length), this.get(control, name)]));
  }
}
