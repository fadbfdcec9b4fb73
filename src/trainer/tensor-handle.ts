// A hook's tensors on the engine.
import type { HostArray } from "../core/arrays.ts";
import type { DeviceTensors } from "../core/device-tensors.ts";
import { ContextError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { didYouMean } from "../core/suggest.ts";
import { freeAll, readBuffer, type Buffer, type Engine } from "../engines/engine.ts";

type Buffers = Readonly<Record<string, Buffer>>;

/** One hook's tensors. Only the trainer looks at the buffers. */
export class TensorHandle implements DeviceTensors {
  readonly names: readonly string[];
  readonly #engine: Engine;
  readonly #released: (handle: TensorHandle) => void;
  #buffers: Buffers | undefined;

  constructor(engine: Engine, buffers: Buffers, released: (handle: TensorHandle) => void) {
    this.#engine = engine;
    this.#buffers = buffers;
    this.#released = released;
    this.names = Object.keys(buffers);
  }

  get freed(): boolean {
    return this.#buffers === undefined;
  }

  get buffers(): Buffers {
    if (!this.#buffers) throw new ContextError(`These tensors were freed before this use.`);
    return this.#buffers;
  }

  async get(name: string): Promise<HostArray> {
    const buffer = this.buffers[name];
    if (!buffer) throw new ContextError(`There is no tensor \`${name}\` here.${didYouMean(name, this.names)}`);
    return readBuffer(this.#engine, buffer);
  }

  async read(): Promise<HostTensors> {
    const copies = this.names.map(async (name) => [name, await this.get(name)] as const);
    return Object.fromEntries(await Promise.all(copies));
  }

  free(): void {
    if (!this.#buffers) return;
    freeAll(this.#engine, this.#buffers);
    this.#buffers = undefined;
    this.#released(this);
  }
}
