// What lives on the device between steps: parameters, optimizer state, model state. Flat maps in one canonical order.
import { sizeOf, type HostArray, toHostArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { didYouMean } from "../core/suggest.ts";
import { freeAll, type Buffer, type Engine } from "../engines/engine.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { paramOfSlot } from "./programs/programs.ts";

export type Buffers = Readonly<Record<string, Buffer>>;

export class DeviceState {
  readonly engine: Engine;
  params: Buffers;
  opt: Buffers;
  state: Buffers;

  constructor(
    engine: Engine,
    host: { readonly params: HostTensors; readonly state: HostTensors },
    optimizers: OptimizerSet,
  ) {
    this.engine = engine;
    this.params = this.#putAll(host.params);
    this.state = this.#putAll(host.state);
    this.opt = this.#putAll(zeroSlots(host.params, optimizers));
  }

  #putAll(tensors: HostTensors): Buffers {
    return Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => [name, this.engine.put(toHostArray(tensor, name))]),
    );
  }

  /** Replaces some of the parameters or slots, keeping the order; what they replace is freed unless the program took it. */
  commit(part: "params" | "opt" | "state", next: Buffers, donated: boolean): void {
    const before = this[part];
    if (!donated)
      for (const name of Object.keys(next))
        if (before[name] && before[name] !== next[name]) this.engine.free(before[name]);
    this[part] = Object.fromEntries(Object.keys(before).map((name) => [name, next[name] ?? before[name]!]));
  }

  async read(name: string): Promise<HostArray> {
    const buffer = this.params[name] ?? this.state[name];
    if (!buffer) throw new DataError(`There is no parameter \`${name}\`.${didYouMean(name, Object.keys(this.params))}`);
    return readBuffer(this.engine, buffer);
  }

  /** Parameters and buffers by name, as host copies: PyTorch's state dict. */
  async stateDict(): Promise<HostTensors> {
    const all = { ...this.params, ...this.state };
    const copies = await Promise.all(
      Object.entries(all).map(async ([name, buffer]) => [name, await readBuffer(this.engine, buffer)] as const),
    );
    return Object.fromEntries(copies);
  }

  /** Replaces parameters and buffers by host arrays of the same names and shapes. */
  load(tensors: HostTensors): void {
    const known = { ...this.params, ...this.state };
    const missing = Object.keys(known).filter((name) => !Object.hasOwn(tensors, name));
    if (missing.length > 0) throw new DataError(`The state dict lacks ${missing.join(", ")}.`);
    for (const name of Object.keys(tensors)) {
      if (!Object.hasOwn(known, name))
        throw new DataError(
          `The state dict has \`${name}\`, which this model does not.${didYouMean(name, Object.keys(known))}`,
        );
      checkShape(name, tensors[name]!, known[name]!);
    }
    this.commit("params", this.put(tensors, Object.keys(this.params)), false);
    this.commit("state", this.put(tensors, Object.keys(this.state)), false);
  }

  /** Uploads the named tensors in canonical order, checking each against the parameter it stands for. */
  put(tensors: HostTensors, names: readonly string[]): Buffers {
    const known = { ...this.params, ...this.state };
    for (const name of names) {
      if (!tensors[name]) throw new DataError(`Tensor \`${name}\` is missing.`);
      checkShape(name, tensors[name], known[name]!);
    }
    return Object.fromEntries(names.map((name) => [name, this.engine.put(tensors[name]!)]));
  }

  get paramCount(): number {
    return Object.values(this.params).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  }

  free(): void {
    for (const part of [this.params, this.opt, this.state]) freeAll(this.engine, part);
  }
}

function checkShape(name: string, tensor: HostArray, { shape }: Buffer): void {
  const given = toHostArray(tensor, name).shape;
  if (given.join() !== shape.join())
    throw new DataError(`Tensor \`${name}\` has shape [${given.join(", ")}]; this model wants [${shape.join(", ")}].`);
}

/** Optimizer state at the start: zeros of the parameters' shapes. */
function zeroSlots(params: HostTensors, { slotNames }: OptimizerSet): HostTensors {
  return Object.fromEntries(
    slotNames.map((slot) => {
      const { shape } = params[paramOfSlot(slot)]!;
      return [slot, { data: new Float32Array(sizeOf(shape)), shape }];
    }),
  );
}

export async function readBuffer(engine: Engine, buffer: Buffer): Promise<HostArray> {
  return { data: await engine.read(buffer), shape: [...buffer.shape] };
}
