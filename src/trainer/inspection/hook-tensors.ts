// The parameters as hooks and callers see them, the tensors that they keep on the engine, and the programs that they run there.
import { type HostArray, toHostArray } from "../../core/arrays.ts";
import type { ComputeFn, ComputeInput, Consumed, DeviceTensors, ParamsView } from "../../core/inspection.ts";
import { ContextError, ProgramError } from "../../core/errors.ts";
import { type HostTensors, type Tensors, isTensor } from "../../core/model.ts";
import { didYouMean } from "../../core/names.ts";
import { show } from "../../core/options.ts";
import { type Engine, freeAll, freeRest, readBuffer } from "../../engines/engine.ts";
import type { Buffers, DeviceState, ModelBuffers } from "../device-state.ts";
import { type FunctionWatch, ProgramCache } from "../programs/run.ts";
import type { BufferRecomputer } from "../recompute-buffers.ts";

export class HookTensors implements ParamsView {
  readonly #engine: Engine;
  readonly #state: DeviceState;
  /** The parameters and buffers in use: an evaluation may run on others. */
  readonly #current: () => ModelBuffers;
  readonly #programs: ProgramCache;
  readonly #functions: FunctionWatch | undefined;
  readonly #recomputer: BufferRecomputer | undefined;
  readonly #open = new Set<TensorHandle>();
  #closed = false;

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
    this.#programs = new ProgramCache(engine);
    this.#functions = functions;
    this.#recomputer = recomputer;
  }

  get names(): readonly string[] {
    return Object.keys(this.#started().params);
  }

  get buffers(): readonly string[] {
    return Object.keys(this.#started().state);
  }

  get version(): number {
    return this.#started().version;
  }

  async get(name: string): Promise<HostArray> {
    return this.#started().read(name);
  }

  snapshot(names?: readonly string[]): DeviceTensors {
    this.#started();
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
    this.#started();
    return this.#keep(this.#putAll("params.put", tensors));
  }

  consume(tensors: DeviceTensors): Consumed {
    return new ConsumedTensors(this.#own(tensors, "params.consume"));
  }

  async compute(fn: ComputeFn, ...inputs: readonly ComputeInput[]): Promise<DeviceTensors> {
    const state = this.#started();
    if (typeof fn !== "function") throw new ContextError(`params.compute takes a function first, got ${show(fn)}.`);
    while (state.taken) await state.taken;
    this.#started();
    this.#functions?.note("params.compute", fn);
    // On the engine for this call alone.
    const temporary: Buffers[] = [];
    const taken: (readonly [TensorHandle, Buffers])[] = [];
    const argument = (input: ComputeInput): Buffers => {
      if (input instanceof ConsumedTensors) {
        taken.push([input.consumed, input.consumed.take()]);
        return taken.at(-1)![1];
      }
      if (input instanceof TensorHandle) return this.#own(input, "params.compute").buffers;
      const host = typeof input === "number" ? { value: { data: Float32Array.of(input), shape: [] } } : input;
      temporary.push(this.#putAll("params.compute", host as HostTensors));
      return temporary.at(-1)!;
    };
    try {
      const args = inputs.map(argument);
      const donate = inputs.flatMap((input, i) => (input instanceof ConsumedTensors ? [i + 1] : []));
      const program = this.#programs.of(fn, `consuming ${donate.join()}`, () => checked(fn), { donate });
      const result = (await program(state.withBase(this.#current().params), ...args)) as Buffers;
      taken.length = 0;
      return this.#keep(result);
    } finally {
      // Those of a call that failed are the caller's again.
      for (const [handle, buffers] of taken) {
        if (this.#closed) freeRest(this.#engine, buffers);
        else handle.giveBack(buffers);
      }
      (this.#closed ? freeRest : freeAll)(this.#engine, temporary);
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

  /** The end of the session: frees what was left behind. */
  free(): void {
    this.#closed = true;
    for (const handle of this.#open) handle.free();
  }

  #started(): DeviceState {
    if (!this.#closed) return this.#state;
    throw new ContextError(
      `These are the parameters of a trainer that was closed or has started over since. Get the present ones with \`await trainer.params()\`.`,
    );
  }

  /** One of this trainer's, and not gone. */
  #own(tensors: DeviceTensors, what: string): TensorHandle {
    if (tensors instanceof TensorHandle && (this.#open.has(tensors) || tensors.freed)) return tensors;
    throw new ContextError(`${what} takes tensors of this trainer, got ${show(tensors)}.`);
  }

  #putAll(what: string, tensors: HostTensors): Buffers {
    if (typeof tensors !== "object" || tensors === null)
      throw new ContextError(
        `${what} takes tensors of this trainer, host arrays by name and numbers, got ${show(tensors)}.`,
      );
    const arrays = Object.entries(tensors).map(
      ([name, tensor]) => [name, toHostArray(tensor, `${what}, \`${name}\``)] as const,
    );
    return Object.fromEntries(arrays.map(([name, array]) => [name, this.#engine.put(array)]));
  }

  #keep(buffers: Buffers): TensorHandle {
    if (this.#closed) {
      freeRest(this.#engine, buffers);
      this.#started();
    }
    return new TensorHandle(this.#engine, buffers, this.#open);
  }
}

/** The function, with what it returns checked while it is traced. */
const checked =
  (fn: ComputeFn) =>
  (params: Tensors, ...inputs: Tensors[]): Tensors => {
    const result = fn(params, ...inputs);
    const parts =
      typeof result === "object" && result !== null && !isTensor(result) ? Object.entries(result) : undefined;
    if (!parts)
      throw new ProgramError(`params.compute: the function must return tensors by name, got ${show(result)}.`);
    const odd = parts.find(([, part]) => typeof part?.dtype !== "string");
    if (odd)
      throw new ProgramError(
        `params.compute: what the function returned as \`${odd[0]}\` is no tensor, but ${show(odd[1])}. Name the tensors of nested parts with dots, such as \`${odd[0]}.0\`.`,
      );
    return result;
  };

// A caller's tensors on the engine.

/** Somebody's tensors. Only the trainer looks at the buffers. */
export class TensorHandle implements DeviceTensors {
  readonly names: readonly string[];
  readonly #engine: Engine;
  /** All that are not freed. */
  readonly #open: Set<TensorHandle>;
  #buffers: Buffers | undefined;
  #wasConsumed = false;

  constructor(engine: Engine, buffers: Buffers, open: Set<TensorHandle>) {
    this.#engine = engine;
    this.#buffers = buffers;
    this.#open = open;
    this.names = Object.keys(buffers);
    open.add(this);
  }

  get freed(): boolean {
    return this.#buffers === undefined;
  }

  get buffers(): Buffers {
    if (this.#buffers) return this.#buffers;
    if (!this.#wasConsumed) throw new ContextError(`These tensors were freed before this use.`);
    throw new ContextError(
      `These tensors (${this.names.slice(0, 3).join(", ")}${this.names.length > 3 ? ", …" : ""}) were consumed by an earlier params.compute, which was given them with params.consume(). Use what it returned.`,
    );
  }

  /** Gives the buffers to a program. */
  take(): Buffers {
    const { buffers } = this;
    this.#buffers = undefined;
    this.#wasConsumed = true;
    this.#open.delete(this);
    return buffers;
  }

  /** The program failed and has left them. */
  giveBack(buffers: Buffers): void {
    this.#buffers = buffers;
    this.#wasConsumed = false;
    this.#open.add(this);
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
    // A program that failed may have taken some of them with it.
    freeRest(this.#engine, this.#buffers);
    this.#buffers = undefined;
    this.#open.delete(this);
  }
}

/** Tensors that a program may use up. */
class ConsumedTensors implements Consumed {
  readonly consumed: TensorHandle;

  constructor(consumed: TensorHandle) {
    this.consumed = consumed;
  }
}
