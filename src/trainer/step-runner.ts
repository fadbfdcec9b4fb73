// The computing side of a step: which programs run, on which buffers, and when their results become the state.
import type { HostArray } from "../core/arrays.ts";
import type { UpdateFn } from "../core/context.types.ts";
import type { Grads } from "../core/grads.ts";
import type { MaybePromise } from "../core/loader.ts";
import { chain } from "../core/maybe.ts";
import { samplesIn } from "../core/loop.ts";
import type { HostBatch, HostTensors, Loss, Tensors } from "../core/model.ts";
import type { NameFilter } from "../core/names.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Plan, Work } from "../core/work.ts";
import { freeAll, type Buffer, type Engine, type Tree } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import { BatchInput } from "./batch-input.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import { GradsView } from "./grads-view.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { choosePlan } from "./plan.ts";
import { ProgramCache, type Compiled } from "./program-cache.ts";
import type { ControlLayout } from "./programs/control.ts";
import {
  accumulate,
  clipGrads,
  finishAccumulation,
  forwardOnly,
  fusedStep,
  lossGrads,
  normOf,
  paramOfSlot,
  startAccumulation,
  updateParams,
} from "./programs/programs.ts";
import type { SumsLayout } from "./programs/sums.ts";
import { runProgram } from "./run-program.ts";
import { Scalars } from "./scalars.ts";
import type { Specs, StepSpec } from "./specs.ts";
import { Totals } from "./totals.ts";

export interface StepOptions {
  readonly seed: number;
  readonly clipNorm: number | undefined;
  readonly clipValue: number | undefined;
  readonly lossWeights: Readonly<Record<string, number>>;
  readonly totals: () => { readonly totalSteps: number | undefined; readonly totalEpochs: number | undefined };
}

/** The micro-batch at hand. Its results wait here until they are kept or dropped. */
interface Micro {
  readonly host: HostBatch;
  readonly loader: string;
  readonly weight: number;
  readonly batch: Buffers;
  readonly key: Buffer;
  result?: { readonly grads: Buffers; readonly state: Buffers; readonly sums: Buffer };
}

/** The open step of the split plans: nothing here is part of the state before `commit`. */
interface OpenStep {
  kept: number;
  weight: number;
  /** Gradients: the only micro-batch's own, the weighted sum, and from `gatherGrads` on the mean. */
  grads: Buffers | undefined;
  state: Buffers | undefined;
  sums: Buffer | undefined;
  params: Record<string, Buffer>;
  opt: Record<string, Buffer>;
}

const openStep = (): OpenStep => ({
  kept: 0,
  weight: 0,
  grads: undefined,
  state: undefined,
  sums: undefined,
  params: {},
  opt: {},
});

/** What the runner is built from. */
export interface StepParts {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly optimizers: OptimizerSet;
  readonly specs: Specs;
  readonly sums: SumsLayout;
  readonly control: ControlLayout;
  readonly hooks: HookRegistry;
  readonly options: StepOptions;
  readonly warn: (message: string) => void;
}

export class StepRunner implements Work {
  readonly syncRead: boolean;
  readonly clips: boolean;
  readonly tied: boolean;
  plan: Plan;
  due: readonly number[] = [];
  readonly #engine: Engine;
  readonly #state: DeviceState;
  readonly #optimizers: OptimizerSet;
  readonly #specs: Specs;
  readonly #control: ControlLayout;
  readonly #hooks: HookRegistry;
  readonly #options: StepOptions;
  readonly #programs: ProgramCache;
  readonly #input: BatchInput;
  readonly #totals: Totals;
  readonly #scalars: Scalars;
  #step = 0;
  #spec: StepSpec;
  #micro: Micro | undefined;
  #open = openStep();
  /** Changes whenever a view of the gradients must die. */
  #window = 0;

  constructor(parts: StepParts) {
    const { engine, optimizers, options } = parts;
    this.#engine = engine;
    this.#state = parts.state;
    this.#optimizers = optimizers;
    this.#specs = parts.specs;
    this.#control = parts.control;
    this.#hooks = parts.hooks;
    this.#options = options;
    this.#programs = new ProgramCache(engine);
    this.#input = new BatchInput(engine, parts.warn);
    this.#totals = new Totals(engine, parts.sums);
    this.#scalars = new Scalars(engine);
    this.syncRead = engine.syncRead;
    this.clips = options.clipNorm !== undefined || options.clipValue !== undefined;
    this.tied = optimizers.slots.some(({ optimizer }) => optimizer.loader !== undefined);
    this.plan = choosePlan(parts.hooks, 1, this.clips);
    this.#spec = this.#specs.get(this.plan, "", []);
  }

  get kept(): number {
    return this.#open.kept;
  }

  beginStep(step: number, epoch: number, accumulate: number): void {
    this.#step = step;
    this.plan = choosePlan(this.#hooks, accumulate, this.clips);
    this.#optimizers.schedule({ step: step - 1, epoch, ...this.#options.totals() });
    this.#scalars.clear();
  }

  takeBatch(host: HostBatch, loader: string, micro: number): number {
    const weight = samplesIn(host);
    this.due = this.#optimizers.due(loader);
    this.#spec = this.#specs.get(this.plan, loader, this.due);
    const key = this.#engine.put({ data: stepKey(this.#options.seed, this.#step, micro), shape: [2] });
    this.#micro = { host, loader, weight, batch: this.#input.put(host, loader), key };
    return weight;
  }

  fusedStep(scale: number): MaybePromise<void> {
    const spec = this.#spec;
    const { batch, key, weight } = this.#micro!;
    const { params, state } = this.#state;
    for (const i of this.due) this.#optimizers.fill(this.#control, i);
    const control = this.#putControl(scale);
    const program = this.#programs.of(spec, "fused", fusedStep(spec), { donate: [0, 1, 2, 3, 5, 6, 7] });
    const done = this.#run(
      "step",
      program,
      pick(params, spec.train),
      this.#slots(spec.train),
      state,
      this.#totals.sums,
      pick(params, spec.frozen),
      batch,
      control,
      key,
    );
    this.#micro = undefined;
    return chain(done, (out) => {
      const result = out as {
        params: Buffers;
        opt: Buffers;
        state: Buffers;
        sums: Buffer;
        loss: Buffer;
        outputs: Tree<Buffer>;
        norm?: Buffer;
      };
      this.#state.commit("params", result.params, true);
      this.#state.commit("opt", result.opt, true);
      this.#state.commit("state", result.state, true);
      this.#scalars.set(result);
      for (const i of this.due) this.#optimizers.slots[i]!.updates++;
      return this.#totals.accept(result.sums, weight, true);
    });
  }

  forward(): MaybePromise<void> {
    const { batch, key } = this.#micro!;
    const program = this.#programs.of(this.#spec, "forward", forwardOnly(this.#spec));
    const done = this.#run(
      "forward pass",
      program,
      this.#state.params,
      this.#open.state ?? this.#state.state,
      batch,
      key,
    );
    return chain(done, (out) => this.#scalars.set(out as { loss: Buffer; outputs: Tree<Buffer> }));
  }

  backward(scale: number): MaybePromise<void> {
    const micro = this.#micro!;
    const spec = this.#spec;
    const { params, state } = this.#state;
    const program = this.#programs.of(spec, "lossGrads", lossGrads(spec), { donate: [5] });
    const done = this.#run(
      "backward pass",
      program,
      pick(params, spec.train),
      this.#open.state ?? state,
      this.#open.sums ?? this.#totals.sums,
      pick(params, spec.frozen),
      micro.batch,
      this.#putControl(scale),
      micro.key,
    );
    return chain(done, (out) => {
      const {
        grads,
        state: next,
        sums,
        loss,
        outputs,
      } = out as { grads: Buffers; state: Buffers; sums: Buffer; loss: Buffer; outputs: Tree<Buffer> };
      micro.result = { grads, state: next, sums };
      this.#scalars.set({ loss, outputs });
      this.#window++;
    });
  }

  keepBatch(): MaybePromise<void> {
    const { weight, result } = this.#micro!;
    const { grads, state, sums } = result!;
    const open = this.#open;
    if (open.state) freeAll(this.#engine, open.state);
    if (open.sums) this.#engine.free(open.sums);
    Object.assign(open, { state, sums });
    const before = open.weight;
    open.kept++;
    open.weight += weight;
    this.#freeMicro();
    if (open.kept === 1) {
      open.grads = grads;
      return undefined;
    }
    // The first gradient is weighted only when a second one comes, so that a single one stays as it is, bit for bit.
    const first = open.kept === 2 ? this.#weighted(startAccumulation, before, open.grads!) : open.grads!;
    return chain(first, (total) =>
      chain(this.#weighted(accumulate, weight, total as Buffers, grads), (sum) => void (open.grads = sum as Buffers)),
    );
  }

  dropBatch(): void {
    const result = this.#micro?.result;
    if (result) freeAll(this.#engine, [result.grads, result.state, result.sums]);
    this.#freeMicro();
  }

  gatherGrads(): MaybePromise<void> {
    this.#window++;
    const open = this.#open;
    const mean = open.kept === 1 ? open.grads! : this.#weighted(finishAccumulation, open.weight, open.grads!);
    return chain(mean, (grads) => {
      open.grads = grads as Buffers;
      // Without clipping nobody computes the norm on the way, so it is computed here for those who need it.
      if (this.clips || !this.plan.gradNorm) return undefined;
      return chain(this.#run("norm", this.#programs.once("norm", normOf), open.grads), (norm) =>
        this.#scalars.set({ norm: norm as Buffer }),
      );
    });
  }

  clip(): MaybePromise<void> {
    const program = this.#programs.of(this.#spec, "clip", clipGrads(this.#spec), { donate: [0, 1] });
    return chain(this.#run("clipping", program, this.#open.grads!, this.#putControl(1)), (out) => {
      const { grads, norm, clippedNorm } = out as { grads: Buffers; norm: Buffer; clippedNorm: Buffer };
      this.#open.grads = grads;
      this.#scalars.set({ norm, clippedNorm });
    });
  }

  update(index: number): MaybePromise<void> {
    const slot = this.#optimizers.slots[index]!;
    const mine = new Set(slot.groups.flatMap(({ params }) => params));
    const names = this.#spec.train.filter((name) => mine.has(name));
    this.#optimizers.fill(this.#control, index);
    const program = this.#programs.of(this.#spec, `update ${index}`, updateParams(this.#spec, slot.rule), {
      donate: [3],
    });
    const done = this.#run(
      "update",
      program,
      pick(this.#state.params, names),
      this.#slots(names),
      pick(this.#open.grads!, names),
      this.#putControl(1),
    );
    return chain(done, (out) => {
      const { params, opt } = out as { params: Buffers; opt: Buffers };
      Object.assign(this.#open.params, params);
      Object.assign(this.#open.opt, opt);
    });
  }

  commit(): void {
    const { params, opt, state, sums, weight, grads } = this.#open;
    this.#state.commit("params", params, false);
    this.#state.commit("opt", opt, false);
    this.#state.commit("state", state!, false);
    for (const i of this.due) this.#optimizers.slots[i]!.updates++;
    void this.#totals.accept(sums!, weight, false);
    freeAll(this.#engine, grads!);
    this.#open = openStep();
    this.#window++;
  }

  abandon(): void {
    const { params, opt, state, sums, grads } = this.#open;
    freeAll(this.#engine, [params, opt, state ?? [], sums ?? [], grads ?? []]);
    this.#open = openStep();
    this.#window++;
  }

  settle(): MaybePromise<void> {
    return this.#scalars.settle();
  }

  get loss(): number {
    return this.#scalars.loss;
  }

  get outputs(): HostArray | HostTensors {
    return this.#scalars.outputs;
  }

  get gradNorm(): number {
    return this.#scalars.norm;
  }

  get clippedNorm(): number {
    return this.#scalars.clippedNorm;
  }

  lr(optimizer: number): number {
    return this.#optimizers.rate(optimizer);
  }

  get avgLoss(): number {
    if (this.syncRead) void this.#totals.flush();
    return this.#totals.compute().loss;
  }

  epochMetrics(): MaybePromise<{ loss: number; metrics: Record<string, number> }> {
    return chain(this.#totals.flush(), () => this.#totals.compute());
  }

  resetEpochMetrics(): void {
    this.#totals.reset();
  }

  grads(optimizer: number, record: (what: string) => void): Grads | undefined {
    const opened = this.#window;
    const isOpen = (): boolean => this.#window === opened;
    const micro = this.#micro;
    if (micro?.result) {
      const replace = (grads: Buffers): void => {
        freeAll(this.#engine, micro.result!.grads);
        micro.result = { ...micro.result!, grads };
      };
      return this.#view(isOpen, () => micro.result!.grads, replace, record);
    }
    if (!this.#open.grads) return undefined;
    const mine = new Set(this.#optimizers.slots[optimizer]!.groups.flatMap(({ params }) => params));
    const names = Object.keys(this.#open.grads).filter((name) => mine.has(name));
    const replace = (grads: Buffers): void => {
      freeAll(this.#engine, pick(this.#open.grads!, names));
      this.#open.grads = { ...this.#open.grads, ...grads };
    };
    return this.#view(isOpen, () => pick(this.#open.grads!, names), replace, record);
  }

  setLoss(loss: Loss): void {
    this.#specs.setLoss(loss);
  }

  setLr(lr: number | ((current: number) => number)): string {
    return this.#optimizers.setLr(lr);
  }

  setUpdate(update: UpdateFn | null): void {
    this.#specs.setUpdate(update);
  }

  setTrainable(filter: NameFilter): void {
    this.#specs.setTrainable(filter);
  }

  observe(metrics: Readonly<Record<string, number>>): void {
    this.#optimizers.observe(metrics);
  }

  /** After a failure: nothing of the step at hand remains. */
  dropOpenStep(): void {
    this.dropBatch();
    this.abandon();
  }

  free(): void {
    this.dropOpenStep();
    this.#totals.free();
    this.#scalars.free();
  }

  /** Optimizer state of these parameters, in canonical order. */
  #slots(params: readonly string[]): Buffers {
    const wanted = new Set(params);
    return Object.fromEntries(Object.entries(this.#state.opt).filter(([name]) => wanted.has(paramOfSlot(name))));
  }

  #putControl(scale: number): Buffer {
    const { clipNorm, clipValue, lossWeights } = this.#options;
    const micro = this.#micro;
    this.#control.set("scale", scale * (lossWeights[micro?.loader ?? ""] ?? 1));
    this.#control.set("weight", micro?.weight ?? 1);
    this.#control.set("clipNorm", clipNorm ?? 0);
    this.#control.set("clipValue", clipValue ?? 0);
    return this.#engine.put({ data: this.#control.values, shape: [this.#control.values.length] });
  }

  /** Runs one of the accumulation programs, whose last argument is a weight; consumes the gradients. */
  #weighted(fn: (...args: never[]) => Tensors, weight: number, ...grads: Buffers[]): MaybePromise<Buffers> {
    const scalar = this.#engine.put({ data: Float32Array.of(weight), shape: [] });
    const all = [...grads.keys(), grads.length];
    return this.#run(
      "accumulation",
      this.#programs.once(fn.name, fn, { donate: all }),
      ...grads,
      scalar,
    ) as MaybePromise<Buffers>;
  }

  #view(
    isOpen: () => boolean,
    get: () => Buffers,
    set: (grads: Buffers) => void,
    record: (what: string) => void,
  ): Grads {
    const window = {
      get open() {
        return isOpen();
      },
      get,
      set,
    };
    return new GradsView(this.#engine, this.#programs, window, record);
  }

  #freeMicro(): void {
    if (this.#micro) freeAll(this.#engine, [this.#micro.batch, this.#micro.key]);
    this.#micro = undefined;
    this.#window++;
  }

  #run(what: string, program: Compiled, ...args: Tree<Buffer>[]): MaybePromise<Tree<Buffer>> {
    return runProgram(
      program,
      { what, loader: this.#micro?.loader ?? this.#spec.loader, host: this.#micro?.host ?? {} },
      ...args,
    );
  }
}

const pick = (buffers: Buffers, names: readonly string[]): Buffers =>
  Object.fromEntries(names.map((name) => [name, buffers[name]!]));
