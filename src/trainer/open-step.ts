// The open step of the split plans: micro-batches, accumulated gradients and new parameters that are not part of the state yet.
import { ContextError } from "../core/errors.ts";
import type { Grads } from "../core/inspection.ts";
import type { HostBatch, MaybePromise, Tensors } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import { freeAll, leaves, type Buffer, type Engine, type Halfway } from "../engines/engine.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import { GradsView } from "./inspection/grads-view.ts";
import type { LayeredGrads } from "./layered/layered-grads.ts";
import type { ProgramCache } from "./programs/run.ts";
import { accumulate, finishAccumulation, startAccumulation } from "./programs/programs.ts";
import type { Totals } from "./readings.ts";

/** The current micro-batch. Its results wait here until they are kept or dropped. */
export interface Micro {
  readonly host: HostBatch;
  readonly loader: string;
  /** Which of the step's micro-batches, from 0. */
  readonly index: number;
  readonly weight: number;
  /** The part of the whole batch that its gradient is of already, where several processes share it. */
  readonly part: number | undefined;
  readonly batch: Buffers;
  readonly key: Buffer;
  /** Where its program stands between the forward and the backward pass, on engines that can cut it there. */
  halfway?: Halfway;
  result?: { readonly grads: Buffers; readonly state: Buffers; readonly sums: Buffer };
}

/** What an optimizer makes of parameters and its state. */
export type Updated = { readonly params: Buffers; readonly opt: Buffers };

/** What the kept micro-batches add up to. */
interface Open {
  kept: number;
  weight: number;
  /** Sum of loss × weight, and the loss of the last micro-batch: a step of one has exactly that loss. */
  lossSum: number;
  lastLoss: number;
  /** The only micro-batch's own gradients, the weighted sum of several, and from `gather` on the mean. */
  grads: Buffers;
  state: Buffers | undefined;
  sums: Buffer | undefined;
  /** Are the gradients this process's part of the whole already? */
  inPart: boolean;
  /** The sums and the weight of all processes that train together. */
  counted: { readonly sums: Float32Array; readonly weight: number } | undefined;
  params: Record<string, Buffer>;
  opt: Record<string, Buffer>;
}

const nothing = (): Open => ({
  kept: 0,
  weight: 0,
  lossSum: 0,
  lastLoss: Number.NaN,
  grads: {},
  state: undefined,
  sums: undefined,
  inPart: false,
  counted: undefined,
  params: {},
  opt: {},
});

export class OpenStep {
  micro: Micro | undefined;
  readonly #engine: Engine;
  readonly #programs: ProgramCache;
  readonly #layered: LayeredGrads | undefined;
  #open = nothing();
  /** Changes whenever a view of the gradients must die. */
  #window = 0;

  constructor(engine: Engine, programs: ProgramCache, layered?: LayeredGrads) {
    this.#engine = engine;
    this.#layered = layered;
    this.#programs = programs;
  }

  get kept(): number {
    return this.#open.kept;
  }

  /** The weighted mean over the micro-batches that were kept; undefined when there are none. */
  get loss(): number | undefined {
    const { kept, lossSum, weight, lastLoss } = this.#open;
    if (kept === 0) return undefined;
    return kept > 1 ? lossSum / weight : lastLoss;
  }

  get grads(): Buffers {
    return this.#open.grads;
  }

  /** Model state and sums that the next micro-batch builds on; undefined before the first is kept. */
  get state(): Buffers | undefined {
    return this.#open.state;
  }

  get sums(): Buffer | undefined {
    return this.#open.sums;
  }

  /** The micro-batch's results, open for `afterBackward`. */
  finish(result: NonNullable<Micro["result"]>): void {
    this.micro!.result = result;
    this.#window++;
  }

  /** Adds the micro-batch, which has this loss, to the step. */
  keep(loss: number): MaybePromise<void> {
    const open = this.#open;
    const { weight, part, result } = this.micro!;
    const { grads, state, sums } = result!;
    const before = open.weight;
    open.lossSum += loss * weight;
    open.lastLoss = loss;
    freeAll(this.#engine, open.state ?? {});
    Object.assign(open, { state, kept: open.kept + 1, weight: before + weight, inPart: part !== undefined });
    // A batch without weight is one of another process, there only to have been computed.
    if (weight === 0) this.#engine.free(sums);
    else {
      if (open.sums) this.#engine.free(open.sums);
      open.sums = sums;
    }
    this.release();
    if (open.kept === 1) {
      open.grads = grads;
      return undefined;
    }
    // The first gradient is weighted only when a second one comes, so that a single one stays as it is, bit for bit.
    const first = open.kept === 2 ? this.#weighted(startAccumulation, before, open.grads) : open.grads;
    const sum = chain(first, (total) => this.#weighted(accumulate, weight, total, grads));
    return chain(sum, (total) => void (open.grads = total));
  }

  /** Leaves the micro-batch out. */
  drop(): void {
    const result = this.micro?.result;
    if (result) freeAll(this.#engine, [result.grads, result.state, result.sums]);
    this.release();
  }

  /** Frees the micro-batch's inputs, unless a program took them. */
  release(donated = false): void {
    this.micro?.halfway?.drop();
    if (this.micro && !donated) freeAll(this.#engine, [this.micro.batch, this.micro.key]);
    this.micro = undefined;
    this.#window++;
  }

  /** Turns the sum into the weighted mean. */
  gather(): MaybePromise<void> {
    this.#window++;
    const open = this.#open;
    if (open.kept <= 1 || open.weight === 0) return undefined;
    return chain(this.#weighted(finishAccumulation, open.weight, open.grads), (mean) => void (open.grads = mean));
  }

  get weight(): number {
    return this.#open.weight;
  }

  /** Of all processes, once they have joined. */
  get counted(): Open["counted"] {
    return this.#open.counted;
  }

  get inPart(): boolean {
    return this.#open.inPart;
  }

  /** Puts what several processes have made together in place of what this one did; its sums are counted apart. */
  join(grads: Buffers, state: Buffers, counted: { readonly sums: Float32Array; readonly weight: number }): void {
    const open = this.#open;
    freeAll(this.#engine, [open.grads, open.state ?? {}, open.sums ?? []]);
    Object.assign(open, { grads, state, sums: undefined, kept: 1, counted });
  }

  /** Takes gradients that a program made of the ones it consumed. */
  replaceGrads(grads: Buffers): void {
    this.#open.grads = grads;
  }

  /** Takes one optimizer's new parameters and state; with `device`, where they and the gradients were updated in place. */
  stage({ params, opt }: Updated, device: DeviceState | undefined): void {
    if (device) {
      device.commit("params", params, true);
      device.commit("opt", opt, true);
      this.#open.grads = {};
      return;
    }
    Object.assign(this.#open.params, params);
    Object.assign(this.#open.opt, opt);
  }

  /** The micro-batch's gradients, or those of the step with these names; undefined outside their window. */
  view(names: readonly string[], record: (what: string) => void): Grads | undefined {
    const { micro } = this;
    if (!micro?.result && this.kept === 0) return undefined;
    const opened = this.#window;
    const isOpen = (): boolean => this.#window === opened;
    const get = (): Buffers => {
      const all = micro?.result ? micro.result.grads : this.#open.grads;
      return micro?.result
        ? all
        : pick(
            all,
            names.filter((name) => all[name] !== undefined),
          );
    };
    const set = (grads: Buffers): void => {
      if (names.some((name) => this.#open.params[name] !== undefined)) {
        freeAll(this.#engine, grads);
        throw new ContextError(
          `The gradients have been used already: change them in onAfterBackward or onBeforeOptimizerStep.`,
        );
      }
      freeAll(this.#engine, get());
      if (micro?.result) micro.result = { ...micro.result, grads };
      else this.#open.grads = { ...this.#open.grads, ...grads };
    };
    const window = {
      get open() {
        return isOpen();
      },
      get,
      set,
    };
    return new GradsView(this.#engine, this.#programs, window, record);
  }

  /** Makes the step part of the state: parameters, optimizer, model state and sums together. */
  commit(device: DeviceState, totals: Totals): MaybePromise<void> {
    const { params, opt, state, sums, weight, grads, counted } = this.#open;
    device.commit("params", params, false);
    device.commit("opt", opt, false);
    device.commit("state", state!, false);
    freeAll(this.#engine, grads);
    this.#reset();
    return counted ? totals.add(counted.sums, counted.weight) : totals.accept(sums!, weight, false);
  }

  /** Forgets the step; the state is as before it. */
  abandon(): void {
    const { params, opt, state, sums, grads } = this.#open;
    freeAll(this.#engine, [params, opt, state ?? {}, sums ?? [], grads]);
    this.#reset();
  }

  /** After a failure. Nobody knows which of its inputs a failed program had taken, so what is gone already is not an error. */
  forget(): void {
    const { params, opt, state, sums, grads } = this.#open;
    const { micro } = this;
    const all = [
      params,
      opt,
      state ?? {},
      sums ?? [],
      grads,
      micro?.batch ?? {},
      micro?.key ?? [],
      micro?.result ?? {},
    ];
    for (const buffer of leaves(all)) {
      try {
        this.#engine.free(buffer);
      } catch {
        // Taken by the program that failed.
      }
    }
    micro?.halfway?.drop();
    this.micro = undefined;
    this.#reset();
  }

  #reset(): void {
    this.#open = nothing();
    this.#window++;
  }

  /** Runs one of the accumulation programs, whose last argument is a weight; consumes the gradients. */
  #weighted(
    fn: (...args: never[]) => Tensors,
    weight: number,
    ...grads: [Buffers, ...Buffers[]]
  ): MaybePromise<Buffers> {
    if (this.#layered) return this.#layered.weighted(fn, weight, ...grads);
    const scalar = this.#engine.put({ data: Float32Array.of(weight), shape: [] });
    const program = this.#programs.once(fn.name, () => fn, { donate: [...grads.keys(), grads.length] });
    return program(...grads, scalar) as MaybePromise<Buffers>;
  }
}

export function pick(buffers: Buffers, names: readonly string[]): Buffers {
  const picked: Record<string, Buffer> = {};
  for (const name of names) picked[name] = buffers[name]!;
  return picked;
}
