// What lives on the device between steps: parameters, optimizer state, model state. Flat maps in one canonical order.
import type { LoadedStateDict, LoadStateDictOptions } from "../checkpoint/formats/state-dict.ts";
import { type HostArray, type TensorSpec, sizeOf, toHostArray } from "../core/arrays.ts";
import type { DeviceTensors } from "../core/inspection.ts";
import { DataError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import { is, show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { freeRest, readBuffer, type Buffer, type Engine } from "../engines/engine.ts";
import { type HostModel, specsOf, type TensorSpecs } from "./initial.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { TensorHandle } from "./inspection/hook-tensors.ts";
import { isOwnSlot, paramOfSlot } from "./programs/programs.ts";

export type Buffers = Readonly<Record<string, Buffer>>;

/** A model's parameters and buffers. */
export interface ModelBuffers {
  readonly params: Buffers;
  readonly state: Buffers;
}

export class DeviceState {
  readonly engine: Engine;
  params: Buffers;
  opt: Buffers;
  state: Buffers;
  /** The tensors of the model's frozen base: constants of every program, and part of nothing that is saved. */
  readonly base: Buffers;
  readonly #hasBase: boolean;
  /** Counts the times that parameters were put in place from outside. */
  version = 0;
  /**
   * Pending while a program has consumed the state and its successor is not there yet: on awaited engines only. Calls
   * from outside the loop may come at such a moment, and wait for its end.
   */
  taken: Promise<void> | undefined;
  /** Saved state of an own optimizer step that no hook has set yet. */
  #waiting: HostTensors = {};
  /** The model's tensors as they were made: names, shapes and types to hold others against. */
  readonly #own: { readonly params: TensorSpecs; readonly state: TensorSpecs };

  constructor(engine: Engine, host: HostModel, optimizers: Pick<OptimizerSet, "slotNames">, base: Buffers = {}) {
    this.engine = engine;
    this.base = base;
    this.#hasBase = Object.keys(base).length > 0;
    this.#own = { params: specsOf(host.params), state: specsOf(host.state) };
    this.params = this.#putAll(host.params);
    this.state = this.#putAll(host.state);
    this.opt = this.#zeroSlots(optimizers.slotNames);
  }

  /** Optimizer state at the start: zeros of the parameters' shapes. */
  #zeroSlots(slots: readonly string[]): Buffers {
    return Object.fromEntries(slots.map((slot) => [slot, this.#putZeros(this.params[paramOfSlot(slot)]!)]));
  }

  #putZeros({ shape }: Pick<Buffer, "shape">): Buffer {
    return this.#putSlot({ data: new Float32Array(sizeOf(shape)), shape: [...shape] });
  }

  #putSlot(host: HostArray): Buffer {
    return this.engine.putShares ? this.engine.putShares(host) : this.engine.put(host);
  }

  /** These parameters with the frozen base, as `apply` takes them. */
  withBase(params: Buffers): Buffers {
    return this.#hasBase ? { ...params, ...this.base } : params;
  }

  /** What a step does not change: parameters of these names, and the base. */
  constants(frozen: readonly string[]): Buffers {
    if (frozen.length === 0) return this.base;
    return this.withBase(Object.fromEntries(frozen.map((name) => [name, this.params[name]!])));
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
    const all: Record<string, Buffer> = {};
    for (const name in before) all[name] = next[name] ?? before[name]!;
    this[part] = all;
  }

  /** A step has given the state to its program; it is whole again when `step` ends. */
  take(step: Promise<unknown>): void {
    const over = (): void => void (this.taken = undefined);
    this.taken = step.then(over, over);
  }

  async read(name: string): Promise<HostArray> {
    while (this.taken) await this.taken;
    const buffer = this.params[name] ?? this.state[name];
    if (!buffer) throw new DataError(`There is no parameter \`${name}\`.${didYouMean(name, Object.keys(this.params))}`);
    return readBuffer(this.engine, buffer);
  }

  /** One tensor of the optimizers' state, by its whole name. */
  async readSlot(name: string): Promise<HostArray> {
    while (this.taken) await this.taken;
    return readBuffer(this.engine, this.opt[name]!);
  }

  /** Parameters and buffers by name, as host copies: PyTorch's state dict. */
  async stateDict(): Promise<HostTensors> {
    while (this.taken) await this.taken;
    const all = { ...this.params, ...this.state };
    const copies = await Promise.all(
      Object.entries(all).map(async ([name, buffer]) => [name, await readBuffer(this.engine, buffer)] as const),
    );
    return Object.fromEntries(copies);
  }

  /** Replaces parameters and buffers by host arrays of the same names and shapes. */
  load(tensors: HostTensors): void {
    const wayOut = " Where only names differ, `prefix` and `rename` help; `strict: false` takes what fits.";
    const fitted = fitTensors("The state dict", tensors, this.own, wayOut);
    const put = (part: TensorSpecs): Buffers =>
      this.#putAll(Object.fromEntries(Object.keys(part).map((name) => [name, fitted[name]!])));
    this.version++;
    this.commit("params", put(this.#own.params), false);
    this.commit("state", put(this.#own.state), false);
  }

  /** The same with names that differ, or with some of them only. */
  async loadWith(tensors: HostTensors, options: LoadStateDictOptions): Promise<LoadedStateDict> {
    if (Object.keys(options).length === 0) {
      this.load(tensors);
      return { missing: [], unexpected: [] };
    }
    // Not part of a trainer that only trains.
    const { fitStateDict } = await import("../checkpoint/formats/state-dict.ts");
    const { tensors: fitted, missing, unexpected } = fitStateDict(tensors, this.own, options);
    this.load(missing.length > 0 ? { ...(await this.stateDict()), ...fitted } : fitted);
    return { missing, unexpected };
  }

  /** The model's tensors as they were made. */
  get own(): TensorSpecs {
    return { ...this.#own.params, ...this.#own.state };
  }

  /** Loads the saved optimizer state that fits; the rest starts from zeros. */
  loadOptimizers(tensors: HostTensors): { missing: string[]; orphaned: string[] } {
    const fits = (name: string): boolean => tensors[name]?.shape.join() === this.opt[name]!.shape.join();
    const names = Object.keys(this.opt);
    const next = names.map((name): [string, Buffer] => [
      name,
      fits(name) ? this.#putSlot(toHostArray(tensors[name]!, name)) : this.#putZeros(this.opt[name]!),
    ]);
    const missing = names.filter((name) => !fits(name));
    this.commit("opt", Object.fromEntries(next), false);
    const others = Object.keys(tensors).filter((name) => !Object.hasOwn(this.opt, name));
    this.#waiting = Object.fromEntries(others.filter(isOwnSlot).map((name) => [name, tensors[name]!]));
    return { missing, orphaned: others.filter((name) => !isOwnSlot(name)) };
  }

  /** Adds the slots that are not there yet: as they were saved, or zeros. */
  addSlots(names: readonly string[]): void {
    const added = names.filter((name) => !Object.hasOwn(this.opt, name));
    const fresh = added.map((name): [string, Buffer] => {
      const param = this.params[paramOfSlot(name)]!;
      const saved = this.#waiting[name];
      const fits = saved?.shape.join() === param.shape.join();
      return [name, fits ? this.#putSlot(toHostArray(saved, name)) : this.#putZeros(param)];
    });
    this.opt = { ...this.opt, ...Object.fromEntries(fresh) };
  }

  /** Puts other parameters in place, and those of the buffers that are given with them. */
  setParams(tensors: HostTensors | DeviceTensors): void {
    const { params, state } = this.modelFrom("ctx.setParams", tensors);
    this.version++;
    this.commit("params", params, false);
    this.commit("state", state, false);
  }

  /**
   * Other parameters, checked against the model's own: uploaded, or references to what is on the engine already. All
   * parameters must be there; buffers need not be.
   */
  modelFrom(what: string, tensors: HostTensors | DeviceTensors): ModelBuffers {
    const given = tensors instanceof TensorHandle ? tensors.buffers : (tensors as HostTensors);
    const isGiven = ([name]: [string, TensorSpec]): boolean => is.object.test(given) && Object.hasOwn(given, name);
    const { params } = this.#own;
    const state = Object.fromEntries(Object.entries(this.#own.state).filter(isGiven));
    if (tensors instanceof TensorHandle) {
      return {
        params: this.#copyAll(what, params, tensors.buffers),
        state: this.#copyAll(what, state, tensors.buffers),
      };
    }
    const fitted = fitTensors(what, tensors as HostTensors, { ...params, ...state });
    const put = (part: TensorSpecs): Buffers =>
      this.#putAll(Object.fromEntries(Object.keys(part).map((name) => [name, fitted[name]!])));
    return { params: put(params), state: put(state) };
  }

  #copyAll(what: string, own: TensorSpecs, buffers: Buffers): Buffers {
    const entries = Object.entries(own).map(([name, { shape }]) => {
      const buffer = buffers[name];
      if (buffer?.shape.join() !== shape.join()) {
        throw new DataError(`${what}: \`${name}\` is missing or not of shape [${shape.join(", ")}].`);
      }
      return [name, this.engine.copy(buffer)] as const;
    });
    return Object.fromEntries(entries);
  }

  free(): void {
    freeRest(this.engine, [this.params, this.opt, this.state, this.base]);
  }
}

// Host tensors that are to stand for a model's own: names, shapes and types checked against it.

/** The tensors in the order of `own`, each of its shape and number type; `what` names them in errors. */
function fitTensors(what: string, tensors: HostTensors, own: TensorSpecs, wayOut = ""): HostTensors {
  if (typeof tensors !== "object" || tensors === null) {
    throw new DataError(`${what}: expected tensors by name, as stateDict() returns them, got ${show(tensors)}.`);
  }
  const names = Object.keys(own);
  for (const name of Object.keys(tensors)) {
    if (Object.hasOwn(own, name)) continue;
    throw new DataError(`${what} has \`${name}\`, which this model does not.${didYouMean(name, names)}${wayOut}`);
  }
  const missing = names.filter((name) => !Object.hasOwn(tensors, name));
  if (missing.length > 0)
    throw new DataError(`${what} lacks ${missing.join(", ")}. It must have every tensor of the model.${wayOut}`);
  return Object.fromEntries(names.map((name) => [name, fitTensor(what, name, tensors[name]!, own[name]!)]));
}

const ARRAYS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

function fitTensor(what: string, name: string, tensor: HostArray, own: TensorSpec): HostArray {
  const { data, shape } = toHostArray(tensor, `${what}, tensor \`${name}\``);
  if (shape.join() !== own.shape.join()) {
    throw new DataError(
      `${what}: \`${name}\` has shape [${shape.join(", ")}]; this model wants [${own.shape.join(", ")}].`,
    );
  }
  const Type = ARRAYS[own.dtype];
  const fitted = data instanceof Type ? data : new Type(data);
  return { data: fitted, shape, ...(own.dtype === "bool" && { dtype: "bool" }) };
}
