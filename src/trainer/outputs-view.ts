// A model's outputs of the last batch: on the device until someone looks.
import type { HostArray } from "../core/arrays.ts";
import { ContextError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import { chain } from "../core/maybe.ts";
import type { HostTensors } from "../core/model.ts";
import { freeAll, leaves, type Buffer, type Engine, type Tree } from "../engines/engine.ts";

export class OutputsView {
  readonly #engine: Engine;
  #buffers: Tree<Buffer> | undefined;
  #host: HostArray | HostTensors | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over what a program returned; a program whose outputs nobody wants returns an empty map. */
  set(outputs: Tree<Buffer>): void {
    this.free();
    if (!isEmpty(outputs)) this.#buffers = outputs;
  }

  /** Reads them, on engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead || !this.#buffers || this.#host) return undefined;
    return chain(readTree(this.#engine, this.#buffers), (host) => void (this.#host = host));
  }

  get host(): HostArray | HostTensors {
    if (this.#host) return this.#host;
    if (!this.#buffers) {
      throw new ContextError(
        `ctx.outputs did not come back from the device. Say needs: ["outputs"] on the hook that reads them.`,
      );
    }
    return (this.#host = readTree(this.#engine, this.#buffers) as HostArray | HostTensors);
  }

  free(): void {
    if (this.#buffers) freeAll(this.#engine, this.#buffers);
    this.#buffers = undefined;
    this.#host = undefined;
  }
}

const isEmpty = (outputs: Tree<Buffer>): boolean =>
  (outputs as Partial<Buffer>).shape === undefined && Object.keys(outputs).length === 0;

/** Host copies of a model's outputs: one array, or several by name. */
export function readTree(engine: Engine, outputs: Tree<Buffer>): MaybePromise<HostArray | HostTensors> {
  const buffers = leaves(outputs);
  const single = buffers[0] === outputs;
  const names = single ? [] : Object.keys(outputs);
  const pack = (arrays: readonly HostArray[]): HostArray | HostTensors =>
    single ? arrays[0]! : Object.fromEntries(names.map((name, i) => [name, arrays[i]!]));
  const values = buffers.map((buffer) => engine.read(buffer));
  const wrap = (data: HostArray["data"], i: number): HostArray => ({ data, shape: [...buffers[i]!.shape] });
  if (engine.syncRead) return pack((values as HostArray["data"][]).map(wrap));
  return Promise.all(values.map(async (value) => value)).then((all) => pack(all.map(wrap)));
}
