// The tensors that hooks keep on the engine, and the programs that they run over the parameters.
import type { HostArray } from "../../core/arrays.ts";
import type { ComputeFn, DeviceTensors, ParamsView } from "../../core/inspection.ts";
import { ContextError } from "../../core/errors.ts";
import type { HostTensors } from "../../core/model.ts";
import { didYouMean } from "../../core/names.ts";
import { show } from "../../core/options.ts";
import { type Engine, freeAll, readBuffer } from "../../engines/engine.ts";
import type { Buffers, DeviceState, ModelBuffers } from "../device-state.ts";
import { type FunctionWatch, ProgramCache } from "../programs/run.ts";
import type { BufferRecomputer } from "../recompute-buffers.ts";

export class HookTensors implements ParamsView {
  readonly #engine: Engine;
  readonly #state: DeviceState;
  /** The parameters and buffers in use: an evaluation may run on others. */
  readonly #current: () => ModelBuffers;
  readonly #programs: ProgramCache;
  readonly #recomputer: BufferRecomputer | undefined;
  readonly #open = new Set<TensorHandle>();

  constructor(
    engine: Engine,
    state: DeviceState,
    current: () => ModelBuffers,
    functions?: FunctionWatch,
    recomputer?: BufferRecomputer,
  ) {
    this.#engine = engine;
    this.#state = state;
    this.#current = current;
    this.#programs = new ProgramCache(engine, functions);
    this.#recomputer = recomputer;
  }

  get names(): readonly string[] {
    return Object.keys(this.#state.params);
  }

  get buffers(): readonly string[] {
    return Object.keys(this.#state.state);
  }

  get version(): number {
    return this.#state.version;
  }

  get(name: string): Promise<HostArray> {
    return this.#state.read(name);
  }

  snapshot(names?: readonly string[]): DeviceTensors {
    const { params, state } = this.#current();
    const copies = (names ?? Object.keys(params)).map((name) => {
      const buffer = params[name] ?? state[name];
      if (!buffer)
        throw new ContextError(
          `ctx.params.snapshot: there is no parameter or buffer \`${name}\`.${didYouMean(name, [...Object.keys(params), ...Object.keys(state)])}`,
        );
      return [name, this.#engine.copy(buffer)] as const;
    });
    return this.#keep(Object.fromEntries(copies));
  }

  put(tensors: HostTensors): DeviceTensors {
    const buffers = Object.entries(tensors).map(([name, tensor]) => [name, this.#engine.put(tensor)] as const);
    return this.#keep(Object.fromEntries(buffers));
  }

  async compute(fn: ComputeFn, ...inputs: readonly (DeviceTensors | number)[]): Promise<DeviceTensors> {
    const scalars: Buffers[] = [];
    while (this.#state.taken) await this.#state.taken;
    try {
      const args = inputs.map((input): Buffers => {
        if (input instanceof TensorHandle) return input.buffers;
        if (typeof input !== "number")
          throw new ContextError(`ctx.params.compute takes tensors of this trainer and numbers after the function.`);
        scalars.push({ value: this.#engine.put({ data: Float32Array.of(input), shape: [] }) });
        return scalars.at(-1)!;
      });
      const result = await this.#programs.of(fn, "params.compute", () => fn)(this.#current().params, ...args);
      return this.#keep(result as Buffers);
    } finally {
      freeAll(this.#engine, scalars);
    }
  }

  async recomputeBuffers(tensors: DeviceTensors, batches = 100): Promise<DeviceTensors | undefined> {
    const what = "ctx.params.recomputeBuffers";
    if (!Number.isSafeInteger(batches) || batches < 1)
      throw new ContextError(`${what}: expected \`batches\` to be a whole number ≥ 1, got ${show(batches)}.`);
    if (this.buffers.length === 0 || !this.#recomputer?.isPossible) return undefined;
    const { params, state } = this.#state.modelFrom(what, tensors);
    const missing = Object.entries(this.#state.state).filter(([name]) => !Object.hasOwn(state, name));
    const copies = missing.map(([name, buffer]) => [name, this.#engine.copy(buffer)] as const);
    const all = { ...state, ...Object.fromEntries(copies) };
    const inOrder = Object.fromEntries(this.buffers.map((name) => [name, all[name]!]));
    try {
      const buffers = await this.#recomputer.recompute({ params, state: inOrder }, batches);
      return this.#keep({ ...params, ...buffers });
    } catch (error) {
      freeAll(this.#engine, params);
      throw error;
    }
  }

  /** Frees what hooks left behind. */
  free(): void {
    for (const handle of this.#open) handle.free();
  }

  #keep(buffers: Buffers): TensorHandle {
    const handle = new TensorHandle(this.#engine, buffers, (released) => void this.#open.delete(released));
    this.#open.add(handle);
    return handle;
  }
}

// A hook's tensors on the engine.

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
