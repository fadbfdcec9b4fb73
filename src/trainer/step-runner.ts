// The computing side of a step: which programs run, on which buffers, and when their results become the state.
import type { GroupAssignment } from "../core/ask.ts";
import type { UpdateFn } from "../core/context.types.ts";
import type { DeviceTensors } from "../core/device-tensors.ts";
import type { Diagnosis, NonFinite } from "../core/diagnosis.ts";
import type { Grads } from "../core/grads.ts";
import type { MaybePromise } from "../core/loader.ts";
import { samplesIn } from "../core/batch.ts";
import { chain } from "../core/maybe.ts";
import type { HostBatch, HostTensors, Loss } from "../core/model.ts";
import type { NameFilter } from "../core/names.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Plan, Work } from "../core/work.ts";
import { freeAll, type Buffer, type Engine, type Halfway, type Tree } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import type { BufferGroups } from "./activations-view.ts";
import { BatchInput } from "./batch-input.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import { byName, isBad, nonFiniteIn } from "./non-finite.ts";
import type { JointStep } from "./joint-step.ts";
import { OpenStep, pick, type Micro } from "./open-step.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { choosePlan, samePlan } from "./plan.ts";
import type { ProbeRunner } from "./probe-runner.ts";
import { ProgramCache, type Cut } from "./program-cache.ts";
import type { ControlLayout } from "./programs/control.ts";
import { clipGrads, forwardOnly, fusedStep, lossGrads, normOf, updateParams } from "./programs/programs.ts";
import { nonFiniteCounts } from "./programs/stats.ts";
import { runProgram } from "./run-program.ts";
import type { Specs, StepSpec } from "./specs.ts";
import type { StepOptions, StepParts, StepState } from "./step-parts.ts";
import { StepReadings } from "./step-readings.ts";
import { Totals } from "./totals.ts";

/** Results of the programs, as the runner takes them apart. */
interface Pass {
  readonly state: Buffers;
  readonly sums: Buffer;
  readonly report: Buffer;
  readonly outputs: Tree<Buffer>;
  readonly activations: BufferGroups;
}
type FusedResult = Pass & { readonly params: Buffers; readonly opt: Buffers };
type GradsResult = Pass & { readonly grads: Buffers };

/** A micro-batch that is part of the step, with what is needed to compute it again. */
interface UsedBatch extends Pick<Micro, "host" | "loader" | "index"> {
  readonly spec: StepSpec;
  readonly scale: number;
}

/** Everything but the frozen parameters and the control vector is the program's to reuse. */
const FUSED = { donate: [0, 1, 2, 3, 5, 7] };
/** A guarded step keeps the state before it until its report says that it counts. */
const GUARDED = { donate: [5, 7] };

const NOTHING: Buffers = {};

/** Keys of ranks lie this far apart: more micro-batches than a step will ever have. */
const RANK_STRIDE = 2 ** 20;

/** What a forward pass shows. */
const SHOWN = ["report", "outputs", "activations"];

export class StepRunner implements Work {
  readonly shown: StepReadings;
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
  readonly #probes: ProbeRunner;
  readonly #options: StepOptions;
  readonly #programs: ProgramCache;
  readonly #input: BatchInput;
  readonly #totals: Totals;
  readonly #open: OpenStep;
  /** Where several processes train together: their gradients as one. */
  readonly #joint: JointStep | undefined;
  /** What the plan was chosen for: it is looked at again when one of them changes, or when a cadence decides. */
  #planned = { hooks: -1, accumulate: 0 };
  #step = 0;
  #spec: StepSpec;
  /** Of the last backward pass. */
  #scale = 1;
  /** The micro-batches of a guarded step. */
  readonly #used: UsedBatch[] = [];
  /** The control vector on the device, good until a number in it changes. Programs borrow it. */
  #controlBuffer: Buffer | undefined;

  constructor(parts: StepParts) {
    const { engine, optimizers, options } = parts;
    this.#engine = engine;
    this.#state = parts.state;
    this.#optimizers = optimizers;
    this.#specs = parts.specs;
    this.#control = parts.control;
    this.#hooks = parts.hooks;
    this.#probes = parts.probes;
    this.#options = options;
    this.#programs = new ProgramCache(engine);
    this.#input = new BatchInput(engine, parts.warn);
    this.#totals = new Totals(engine, parts.sums);
    this.shown = new StepReadings(engine, this.#totals);
    this.#open = new OpenStep(engine, this.#programs);
    this.#joint = parts.joint;
    this.clips = options.clipNorm !== undefined || options.clipValue !== undefined;
    this.tied = optimizers.tied;
    this.plan = this.#choosePlan(1);
    this.#spec = this.#specs.get(this.plan, "");
    this.#control.set("clipNorm", options.clipNorm ?? 0);
    this.#control.set("clipValue", options.clipValue ?? 0);
  }

  get kept(): number {
    return this.#open.kept;
  }

  beginStep(step: number, epoch: number): void {
    this.#step = step;
    this.#optimizers.schedule(() => ({ step: step - 1, epoch, ...this.#options.totals() }));
    this.shown.beginStep();
    this.#used.length = 0;
  }

  #choosePlan(accumulate: number): Plan {
    return choosePlan(this.#hooks, accumulate, this.clips, this.#joint?.size);
  }

  planStep(accumulate: number): void {
    const { version } = this.#hooks;
    if (this.#hooks.gatesPlan || this.#planned.hooks !== version || this.#planned.accumulate !== accumulate) {
      const plan = this.#choosePlan(accumulate);
      // An equal plan keeps its identity, and with it what was found for it before.
      if (!samePlan(plan, this.plan)) this.plan = plan;
      this.#planned = { hooks: version, accumulate };
    }
    this.#specs.beginStep();
  }

  takeBatch(host: HostBatch, loader: string, micro: number, empty = false): number {
    const weight = empty ? 0 : samplesIn(host);
    this.#spec = this.#specs.get(this.plan, loader);
    this.due = this.#spec.due;
    const batch = this.#input.put(host, loader);
    const key = this.#engine.put({ data: this.#key(micro), shape: [2] });
    this.#open.micro = { host, loader, index: micro, weight, batch, key };
    return weight;
  }

  /** Each process of several draws its own numbers; the main one those of one alone. */
  #key(micro: number): Uint32Array {
    const rank = this.#joint?.rank ?? 0;
    return stepKey(this.#options.seed, this.#step, micro + rank * RANK_STRIDE);
  }

  fusedStep(scale: number): MaybePromise<void> {
    const spec = this.#spec;
    const { batch, key, weight } = this.#open.micro!;
    const { params, opt, state } = this.#state;
    for (const i of this.due) this.#optimizers.fill(this.#control, i);
    const guarded = this.plan.finite;
    const program = guarded
      ? this.#programs.of(spec, "guarded", () => fusedStep(spec), GUARDED)
      : this.#programs.of(spec, "fused", () => fusedStep(spec), FUSED);
    // Mostly nothing is frozen: then everything goes in as it is.
    const whole = spec.frozen.length === 0;
    const train = whole ? params : pick(params, spec.train);
    const frozen = whole ? NOTHING : pick(params, spec.frozen);
    const slots = whole ? opt : pick(opt, spec.slots);
    const control = this.#putControl(scale);
    this.#use(scale);
    const done = this.#run("step", program, train, slots, state, this.#totals.sums, frozen, batch, control, key);
    this.#open.release(true);
    return chain(done, (out) => {
      const result = out as unknown as FusedResult;
      this.shown.show(result);
      if (!guarded && whole) {
        this.#state.replace(result.params, result.opt, result.state);
        return this.#count(result.sums, weight, true);
      }
      if (!guarded) return this.#accept(result, weight, true);
      return chain(this.shown.scalars.settle(), () => {
        if (this.finite) return this.#accept(result, weight, false);
        const { params, opt, state, sums } = result;
        freeAll(this.#engine, [params, opt, state, sums]);
      });
    });
  }

  /** Makes a whole step part of the state. */
  #accept({ params, opt, state, sums }: FusedResult, weight: number, donated: boolean): MaybePromise<void> {
    this.#state.commit("params", params, donated);
    this.#state.commit("opt", opt, donated);
    this.#state.commit("state", state, donated);
    return this.#count(sums, weight, donated);
  }

  #count(sums: Buffer, weight: number, donated: boolean): MaybePromise<void> {
    this.#optimizers.updated(this.due);
    return this.#totals.accept(sums, weight, donated);
  }

  forward(): MaybePromise<void> {
    const spec = this.#spec;
    const cut = this.#programs.cut(spec, () => lossGrads(spec), SHOWN);
    if (cut) return this.#firstHalf(cut);
    const { batch, key } = this.#open.micro!;
    const program = this.#programs.of(spec, "forward", () => forwardOnly(spec));
    const state = this.#open.state ?? this.#state.state;
    const done = this.#run("forward pass", program, this.#state.params, state, batch, key);
    return chain(done, (out) => {
      this.shown.show(out as unknown as Pass);
    });
  }

  #firstHalf(cut: Cut): MaybePromise<void> {
    return chain(this.#run("forward pass", cut, ...this.#passInputs(1)), (halfway) => {
      this.#open.micro!.halfway = halfway;
      this.shown.show(halfway.early as unknown as Pass);
    });
  }

  backward(scale: number): MaybePromise<void> {
    const spec = this.#spec;
    const { halfway } = this.#open.micro!;
    if (halfway) return this.#secondHalf(halfway, scale);
    const collects = this.plan.kind !== "forwardFirst";
    // The forward pass that came first has collected already.
    const program = collects
      ? this.#programs.of(spec, "lossGrads", () => lossGrads(spec))
      : this.#programs.of(spec, "lossGrads only", () => lossGrads({ ...spec, probes: [] }));
    const done = this.#run("backward pass", program, ...this.#passInputs(scale));
    return chain(done, (out) => {
      const { report, outputs, activations, ...result } = out as unknown as GradsResult;
      this.#finish(result, scale);
      this.shown.show({ report, outputs, ...(collects && { activations }) });
    });
  }

  /** All that the first half has shown stays; nothing of it is computed again. */
  #secondHalf(halfway: Halfway, scale: number): MaybePromise<void> {
    const done = this.#run("backward pass", halfway.finish, ...this.#passInputs(scale));
    return chain(done, (out) => this.#finish(out as unknown as GradsResult, scale));
  }

  #finish({ grads, state, sums }: Pick<GradsResult, "grads" | "state" | "sums">, scale: number): void {
    this.#open.finish({ grads, state, sums });
    this.#scale = scale;
  }

  /** What a forward and backward pass takes. */
  #passInputs(scale: number): Tree<Buffer>[] {
    const { batch, key } = this.#open.micro!;
    const { params } = this.#state;
    const train = pick(params, this.#spec.train);
    const frozen = pick(params, this.#spec.frozen);
    const state = this.#open.state ?? this.#state.state;
    const sums = this.#open.sums ?? this.#totals.sums;
    return [train, state, sums, frozen, batch, this.#putControl(scale), key];
  }

  keepBatch(): MaybePromise<void> {
    this.#use(this.#scale);
    return this.#open.keep();
  }

  dropBatch(): void {
    this.#open.drop();
  }

  async joinGrads(loader: string, keeps: boolean, samples: number): Promise<number | undefined> {
    const own = this.#open.kept > 0 ? this.#spec : this.#specs.get(this.plan, loader);
    this.#spec = own;
    this.due = own.due;
    const loss = await this.#joint!.join(this.#open, own.train, keeps, samples);
    if (loss !== undefined) this.shown.scalars.setLoss(loss);
    return loss;
  }

  gatherGrads(): MaybePromise<void> {
    return chain(this.#open.gather(), () => {
      // Clipping computes the norm on its way, but a guard must know before.
      if (!this.plan.gradNorm || (this.clips && !this.plan.finite)) return undefined;
      const program = this.#programs.once("norm", () => normOf);
      return chain(this.#run("norm", program, this.#open.grads), (norm) => {
        this.shown.scalars.set("norm", norm as Buffer);
        return this.shown.scalars.settle();
      });
    });
  }

  clip(): MaybePromise<void> {
    const program = this.#programs.of(this.#spec, "clip", () => clipGrads(this.#spec), { donate: [0] });
    return chain(this.#run("clipping", program, this.#open.grads, this.#putControl(1)), (out) => {
      const { grads, report } = out as { grads: Buffers; report: Buffer };
      this.#open.replaceGrads(grads);
      this.shown.scalars.set("clip", report);
    });
  }

  update(index: number): MaybePromise<void> {
    // Taken anew: a hook may have set its own update since the batch was taken.
    const spec = this.#specs.get(this.plan, this.#spec.loader);
    const { rule } = this.#optimizers.slots[index]!;
    const names = this.#specs.trainedBy(spec, index);
    this.#optimizers.fill(this.#control, index);
    const program = this.#programs.of(spec, `update ${index}`, () => updateParams(spec, rule));
    const slots = pick(this.#state.opt, this.#specs.slotsOf(names));
    const grads = pick(this.#open.grads, names);
    const done = this.#run("update", program, pick(this.#state.params, names), slots, grads, this.#putControl(1));
    return chain(done, (out) => {
      const { params, opt } = out as { params: Buffers; opt: Buffers };
      this.#open.stage(params, opt);
    });
  }

  commit(): MaybePromise<void> {
    this.#optimizers.updated(this.due);
    return this.#open.commit(this.#state, this.#totals);
  }

  abandon(): void {
    this.#open.abandon();
  }

  get finite(): boolean {
    return !this.plan.finite || this.shown.scalars.finite;
  }

  async diagnose(): Promise<Diagnosis> {
    const params = await this.#countNonFinite(this.#state.params);
    // Of several processes, one that had no rows of this step has nothing bad to show.
    let found: Diagnosis = {
      micro: 0,
      loaderName: this.#spec.loader,
      batch: {},
      params,
      loss: 0,
      grads: {},
      activation: undefined,
    };
    for (const { host, loader, index, spec, scale } of this.#used) {
      this.takeBatch(host, loader, index);
      this.#spec = spec;
      try {
        await this.backward(scale);
        await this.shown.settle();
        const grads = await this.#countNonFinite(this.#open.micro!.result!.grads);
        const { loss } = this.shown;
        const draw = { loader, step: this.#step, micro: index };
        const activation = Number.isFinite(loss) ? undefined : await this.#probes.firstBadPoint(host, draw);
        found = { micro: index, loaderName: loader, batch: nonFiniteIn(host), params, loss, activation, grads };
      } finally {
        this.dropBatch();
      }
      if (isBad(found)) break;
    }
    return found;
  }

  lr(optimizer: number): number {
    return this.#optimizers.stepRate(optimizer);
  }

  resetEpochMetrics(): void {
    this.#totals.reset();
  }

  grads(optimizer: number, record: (what: string) => void): Grads | undefined {
    return this.#open.view(this.#specs.trainedBy(this.#spec, optimizer), record);
  }

  setLoss(loss: Loss): void {
    this.#specs.setLoss(loss);
  }

  ratesFor(lr: number | ((current: number) => number)): readonly number[] {
    return this.#optimizers.ratesFor(lr);
  }

  setRates(rates: readonly number[]): void {
    this.#optimizers.setRates(rates);
  }

  assign(optimizer: number, group: number, values: GroupAssignment): void {
    this.#optimizers.assign(optimizer, group, values);
  }

  setUpdate(update: UpdateFn | null): void {
    this.#specs.setUpdate(update);
  }

  frozenBy(filter: NameFilter): readonly string[] {
    return this.#specs.frozenBy(filter);
  }

  freeze(names: readonly string[]): void {
    this.#specs.freeze(names);
  }

  setParams(params: HostTensors | DeviceTensors): void {
    this.#state.setParams(params);
  }

  observe(metrics: Readonly<Record<string, number>>): void {
    this.#optimizers.observe(metrics);
  }

  /** What a step needs to know of those before it, besides parameters and optimizers. */
  state(): MaybePromise<StepState> {
    return chain(this.#totals.state(), (totals) => ({ totals, frozen: this.#specs.frozen }));
  }

  /** False when the epoch's sums are of other metrics, and begin anew. */
  load({ totals, frozen }: StepState): boolean {
    this.#specs.freeze(frozen);
    return this.#totals.load(totals);
  }

  /** After a failure: nothing of the step at hand remains. */
  dropOpenStep(): void {
    this.#open.forget();
  }

  free(): void {
    this.#open.forget();
    if (this.#controlBuffer) this.#engine.free(this.#controlBuffer);
    this.#totals.free();
    this.shown.free();
  }

  /** Remembers the micro-batch at hand, should a guarded step turn out bad. */
  #use(scale: number): void {
    if (!this.plan.finite) return;
    const { host, loader, index } = this.#open.micro!;
    this.#used.push({ host, loader, index, spec: this.#spec, scale });
  }

  async #countNonFinite(tensors: Buffers): Promise<NonFinite> {
    const names = Object.keys(tensors);
    if (names.length === 0) return {};
    const vector = (await this.#programs.once("nonFinite", () => nonFiniteCounts)(tensors)) as Buffer;
    const counts = await this.#engine.read(vector);
    this.#engine.free(vector);
    return byName(names.map((name, i) => [name, counts[i]!]));
  }

  #putControl(scale: number): Buffer {
    const { micro } = this.#open;
    this.#control.set("scale", scale * (this.#options.lossWeights[micro?.loader ?? ""] ?? 1));
    this.#control.set("weight", micro?.weight ?? 1);
    if (this.#controlBuffer && !this.#control.changed) return this.#controlBuffer;
    if (this.#controlBuffer) this.#engine.free(this.#controlBuffer);
    this.#control.changed = false;
    const { values } = this.#control;
    return (this.#controlBuffer = this.#engine.put({ data: values, shape: [values.length] }));
  }

  #run<T>(
    what: string,
    program: (...args: Tree<Buffer>[]) => MaybePromise<T>,
    ...args: Tree<Buffer>[]
  ): MaybePromise<T> {
    const { micro } = this.#open;
    return runProgram(program, { what, loader: this.#spec.loader, host: micro?.host ?? {} }, ...args);
  }
}
