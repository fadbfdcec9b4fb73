// The control vector: every number that may change from step to step goes into a program through one small input.
import type { Tensor, Tensors } from "../../core/model.ts";

/** Gives each named number a place in one Float32Array, and reads it back by name inside a program. */
export class ControlLayout {
  readonly #index = new Map<string, number>();
  /** Places by prefix (up to the dot) and the rest of the name: groups are written in every step. */
  readonly #groups = new Map<string, Map<string, number>>();
  readonly values: Float32Array<ArrayBuffer>;
  /** Set when a number changes, for whoever keeps a copy on the device to reset. */
  changed = true;

  constructor(names: Iterable<string>) {
    for (const name of new Set(names)) {
      const place = this.#index.size;
      this.#index.set(name, place);
      const prefix = name.slice(0, name.indexOf(".") + 1);
      if (!this.#groups.has(prefix)) this.#groups.set(prefix, new Map());
      this.#groups.get(prefix)!.set(name.slice(prefix.length), place);
    }
    this.values = new Float32Array(this.#index.size);
  }

  set(name: string, value: number): void {
    this.#write(this.#index.get(name)!, value);
  }

  /** Sets the scalars of these names under a prefix. */
  setGroup(prefix: string, values: Readonly<Record<string, number>>): void {
    const places = this.#groups.get(prefix)!;
    for (const name in values) this.#write(places.get(name)!, values[name]!);
  }

  #write(place: number, value: number): void {
    const before = this.values[place];
    this.values[place] = value;
    if (this.values[place] !== before) this.changed = true;
  }

  /** The scalar of that name inside a program. */
  get(control: Tensor, name: string): Tensor {
    return control.ref.slice(this.#index.get(name)!);
  }

  /** All scalars under a prefix, as `h` of an optimizer's rule. */
  group(control: Tensor, prefix: string): Tensors {
    const names = [...this.#groups.get(prefix)!.keys()];
    return Object.fromEntries(names.map((name) => [name, this.get(control, prefix + name)]));
  }
}
