// The step: which programs run, on which buffers, and when their results become the state. A fused step is one program;
// a split step keeps its gradients in an `OpenStep` until the update; in a process group `JointStep` combines them first.
import type { Diagnosis, Grads } from "../core/inspection.ts";
import type { HostBatch, MaybePromise, Share } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { Plan } from "../core/loop/session.ts";
import { freeAll, type Buffer, type Engine, type Tree } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import { Suspects } from "./inspection/diagnose.ts";
import type { JointStep } from "./joint-step.ts";
import type { LayeredPasses } from "./layered/layered-passes.ts";
import { OpenStep, pick, type Updated } from "./open-step.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { ProbeRunner } from "./inspection/probe-runner.ts";
import { forwardOnly } from "./programs/programs.ts";
import {
  BatchInput,
  ControlInput,
  type ControlLayout,
  type FunctionWatch,
  ProgramCache,
  type StepOptions,
  runProgram,
} from "./programs/run.ts";
import type { SumsLayout } from "./programs/sums.ts";
import { type ShownPass, StepReadings, type TotalsState } from "./readings.ts";
import { choosePlan, samePlan, type Specs, StepPrograms, type StepSpec } from "./specs.ts";

export interface StepParts {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly optimizers: OptimizerSet;
  readonly specs: Specs;
  readonly sums: SumsLayout;
  readonly control: ControlLayout;
  readonly hooks: HookRegistry;
  readonly probes: ProbeRunner;
  /** Set in a process group. */
  readonly joint: JointStep | undefined;
  /** Set where the model is computed layer by layer. */
  readonly layered: LayeredPasses | undefined;
  readonly options: StepOptions;
  readonly warn: (message: string) => void;
  readonly functions: FunctionWatch;
}

/** What a checkpoint keeps of the steps before it, besides parameters and optimizers. */
export interface StepState {
  readonly totals: TotalsState;
  readonly frozen: readonly string[];
}

/** What a program returns that has run the model on a batch; `batchSums` when the plan asks for them. */
type PassResult = ShownPass & { readonly state: Buffers; readonly sums: Buffer; readonly batchSums?: Buffer };
type GradsResult = PassResult & { readonly grads: Buffers };
/** Without sums, where the trainer adds up the losses itself. */
type FusedResult = Omit<PassResult, "sums"> & Readonly<{ params: Buffers; opt: Buffers; sums?: Buffer }>;

/** Distance between the keys of two ranks: more micro-batches than a step will ever have. */
const RANK_STRIDE = 2 ** 20;

export class TrainStep {
  readonly readings: StepReadings;
  /** Are gradients clipped, so that `gradientClip` fires? */
  readonly clips: boolean;
  plan: Plan;
  /** Optimizers that update in this step, by index. */
  due: readonly number[] = [];
  /** Has the current step updated the parameters? */
  updated = false;
  readonly #parts: StepParts;
  readonly #engine: Engine;
  readonly #state: DeviceState;
  readonly #programs: ProgramCache;
  readonly #made: StepPrograms;
  readonly #control: ControlInput;
  readonly #input: BatchInput;
  readonly #open: OpenStep;
  readonly #suspects: Suspects;
  /** What the plan was chosen for: it is chosen again when one of them changes, or when a cadence decides. */
  #planned = { hooks: -1, accumulate: 0 };
  #step = 0;
  #spec: StepSpec;
  /** Factor on the loss in the last backward pass. */
  #scale = 1;

  constructor(parts: StepParts) {
    const { engine, options } = parts;
    this.#parts = parts;
    this.#engine = engine;
    this.#state = parts.state;
    this.#programs = new ProgramCache(engine, parts.functions);
    this.#made = new StepPrograms(this.#programs, parts.layered);
    this.#control = new ControlInput(engine, parts.control, options);
    this.#input = new BatchInput(engine, parts.warn);
    this.readings = new StepReadings(engine, parts.sums);
    this.#open = new OpenStep(engine, this.#programs, parts.layered?.grads);
    this.#suspects = new Suspects(engine, this.#programs, parts.probes);
    this.clips = options.clipNorm !== undefined || options.clipValue !== undefined;
    this.plan = choosePlan(parts.hooks, 1, this.clips, parts.joint?.size);
    this.#spec = parts.specs.get(this.plan, "");
  }

  /** Is there a gradient to update with? In a process group every rank takes part, with or without one of its own. */
  get isOpen(): boolean {
    return this.plan.kind !== "fused" && (this.#open.kept > 0 || this.#parts.joint !== undefined);
  }

  /** False when the plan guards the step and its loss or gradient is not finite. */
  get finite(): boolean {
    return !this.plan.finite || this.readings.scalars.finite;
  }

  /** Sets the learning rates of the step that begins. */
  beginStep(step: number, epoch: number): void {
    const { optimizers, options } = this.#parts;
    this.#step = step;
    this.updated = false;
    optimizers.schedule(() => ({ step: step - 1, epoch, ...options.totals() }));
    // `plan` is still that of the step before.
    this.readings.beginStep(this.plan.batchMetrics);
    if (this.plan.finite) this.#suspects.clear();
  }

  /** Chooses the plan of the step, once `stepBegin` is over. */
  planStep(accumulate: number): void {
    const { hooks, specs, joint } = this.#parts;
    const { version } = hooks;
    if (hooks.gatesPlan || this.#planned.hooks !== version || this.#planned.accumulate !== accumulate) {
      const plan = choosePlan(hooks, accumulate, this.clips, joint?.size);
      // An equal plan keeps its identity, and with it the spec that was found for it.
      if (!samePlan(plan, this.plan)) this.plan = plan;
      this.#planned = { hooks: version, accumulate };
    }
    specs.beginStep();
  }

  /**
   * Moves a micro-batch, or this rank's share of one, to the device; returns its weight. Undefined when nothing in it
   * counts: an optimizer would still apply momentum and decay. In a process group all ranks take the same batches.
   */
  takeBatch(host: HostBatch, loader: string, micro: number, share?: Share): number | undefined {
    const { specs, joint, options } = this.#parts;
    const spec = (this.#spec = specs.get(this.plan, loader));
    const weight = share?.empty ? 0 : specs.weigh(host, spec);
    this.due = spec.due;
    spec.indices.check(host);
    const batch = this.#input.put(host, loader);
    // Each rank draws its own random numbers; rank 0 draws those of a single process.
    const data = stepKey(options.seed, this.#step, micro + (joint?.rank ?? 0) * RANK_STRIDE);
    const key = this.#engine.put({ data, shape: [2] });
    const part = share && this.#partInLoss(weight / share.samples);
    this.#open.micro = { host, loader, index: micro, weight, part, batch, key };
    return weight === 0 && !joint ? undefined : weight;
  }

  /**
   * The factor by which the backward pass may scale this rank's gradient, which saves a pass. Undefined if a hook reads
   * the unscaled gradient, or if the factor is no power of two and so would change bits.
   */
  #partInLoss(part: number): number | undefined {
    const free = this.#planned.accumulate === 1 && !this.#parts.hooks.firstListener("afterBackward");
    return free && part > 0 && Number.isInteger(Math.log2(part)) ? part : undefined;
  }

  /** The whole step in one program; its result becomes the state, unless the plan guards the step and it is not finite. */
  fusedStep(scale: number): MaybePromise<void> {
    const spec = this.#spec;
    const { optimizers, control: layout } = this.#parts;
    const { batch, key, weight } = this.#open.micro!;
    const device = this.#state;
    const { params, opt, state } = device;
    for (const i of this.due) optimizers.fill(layout, i);
    const guarded = this.plan.finite;
    // Mostly nothing is frozen: then everything goes in as it is.
    const whole = spec.frozen.length === 0;
    const train = whole ? params : pick(params, spec.train);
    const frozen = whole ? device.base : device.constants(spec.frozen);
    const slots = whole ? opt : pick(opt, spec.slots);
    if (guarded) this.#suspects.add(this.#open.micro!, spec, scale);
    const program = this.#made.fused(spec, guarded);
    const { totals } = this.readings;
    const sums = totals.takesLosses && !this.plan.batchMetrics && !spec.stack ? {} : totals.sums;
    const inputs = [train, slots, state, sums, frozen, batch, this.#putControl(scale), key];
    const done = this.#run("step", program, ...inputs);
    this.#open.micro = undefined;
    const step = chain(done, (out) => {
      const result = out as unknown as FusedResult;
      this.readings.show(result);
      if (result.batchSums) this.readings.metrics.set(result.batchSums, weight, true);
      if (!guarded && whole) {
        device.params = result.params;
        device.opt = result.opt;
        device.state = result.state;
        return this.#count(result.sums, weight, true);
      }
      if (!guarded) return this.#accept(result, weight, true);
      return chain(this.readings.scalars.settle(), () => {
        if (this.finite) return this.#accept(result, weight, false);
        const { params, opt, state, sums = {} } = result;
        freeAll(this.#engine, [params, opt, state, sums]);
      });
    });
    if (!guarded && step instanceof Promise) device.take(step);
    return step;
  }

  #accept({ params, opt, state, sums }: FusedResult, weight: number, donated: boolean): MaybePromise<void> {
    this.#state.commit("params", params, donated);
    this.#state.commit("opt", opt, donated);
    this.#state.commit("state", state, donated);
    return this.#count(sums, weight, donated);
  }

  #count(sums: Buffer | undefined, weight: number, donated: boolean): MaybePromise<void> {
    this.updated = true;
    this.#parts.optimizers.updated(this.due);
    const { totals } = this.readings;
    return sums ? totals.accept(sums, weight, donated) : totals.acceptLoss(this.readings.loss, weight);
  }

  /** Up to the loss: the first half of the backward pass's program, where the engine can split it, else one of its own. */
  forward(): MaybePromise<void> {
    const spec = this.#spec;
    const open = this.#open;
    const cut = this.#made.cut(spec);
    if (cut) {
      return chain(this.#run("forward pass", cut, ...this.#passInputs(1)), (halfway) => {
        open.micro!.halfway = halfway;
        this.readings.show(halfway.early as unknown as PassResult);
      });
    }
    const { batch, key } = open.micro!;
    const program = this.#programs.of(spec, "forward", () => forwardOnly(spec));
    const { params, state } = this.#state;
    const done = this.#run("forward pass", program, this.#state.withBase(params), open.state ?? state, batch, key);
    return chain(done, (out) => this.readings.show(out as unknown as PassResult));
  }

  /** Loss and gradients of the micro-batch. */
  backward(scale: number): MaybePromise<void> {
    this.#scale = scale;
    const spec = this.#spec;
    const open = this.#open;
    const { halfway, weight } = open.micro!;
    // A forward pass of its own has shown the activations already.
    const collects = this.plan.kind !== "forwardFirst";
    const program = halfway?.finish ?? this.#made.lossGrads(spec, collects);
    const done = this.#run("backward pass", program, ...this.#passInputs(scale));
    return chain(done, (out) => {
      const { grads, state, sums, batchSums, report, outputs, activations } = out as unknown as GradsResult;
      open.finish({ grads, state, sums });
      // The second half of a program that was split returns only what the first has not shown.
      if (!halfway) this.readings.show({ report, outputs, ...(collects && { activations }) });
      if (batchSums) this.readings.metrics.set(batchSums, weight);
    });
  }

  #passInputs(scale: number): Tree<Buffer>[] {
    const { params, state } = this.#state;
    const { train, frozen } = this.#spec;
    const { batch, key } = this.#open.micro!;
    const sums = this.#open.sums ?? this.readings.totals.sums;
    const control = this.#putControl(scale);
    const constants = this.#state.constants(frozen);
    return [pick(params, train), this.#open.state ?? state, sums, constants, batch, control, key];
  }

  /** Adds the micro-batch to the step. */
  keepBatch(): MaybePromise<void> {
    if (this.plan.finite) this.#suspects.add(this.#open.micro!, this.#spec, this.#scale);
    if (this.plan.batchMetrics) this.readings.metrics.keep();
    return this.#open.keep(this.readings.loss);
  }

  /** Leaves the micro-batch out of the step. */
  dropBatch(): void {
    if (this.plan.batchMetrics) this.readings.metrics.drop();
    this.#open.drop();
  }

  /**
   * Makes the step's gradient: the weighted mean over the micro-batches that were kept, of all ranks in a process group.
   * Returns the step's loss; undefined when the step is skipped (`skips`), or when no rank kept anything. A rank that
   * skips still takes part in the exchange, and the other ranks learn of the skip there.
   */
  async gatherGrads(loader: string, samples: number, skips: () => boolean): Promise<number | undefined> {
    const { joint, specs } = this.#parts;
    let loss: number | undefined = this.#open.loss;
    if (joint) {
      if (this.#open.kept === 0) this.#spec = specs.get(this.plan, loader);
      this.due = this.#spec.due;
      loss = await joint.join(this.#open, this.#spec.train, !skips(), samples);
      if (loss !== undefined) this.readings.scalars.setLoss(loss);
      if (this.plan.batchMetrics && this.#open.counted) this.readings.metrics.join(this.#open.counted);
    }
    if (loss === undefined || skips()) return undefined;
    await this.#open.gather();
    // Clipping computes the norm on its way, but a guard must know it before.
    if (this.plan.gradNorm && (!this.clips || this.plan.finite)) {
      this.readings.scalars.set("norm", (await this.#run("norm", this.#made.norm(), this.#open.grads)) as Buffer);
      await this.readings.scalars.settle();
    }
    return loss;
  }

  clip(): MaybePromise<void> {
    const program = this.#made.clip(this.#spec);
    return chain(this.#run("clipping", program, this.#open.grads, this.#putControl(1)), (out) => {
      const { grads, report } = out as { grads: Buffers; report: Buffer };
      this.#open.replaceGrads(grads);
      this.readings.scalars.set("clip", report);
    });
  }

  /** One optimizer's update; it becomes part of the state with `commit`, or at once if nobody could see the difference. */
  update(index: number): MaybePromise<void> {
    const { specs, optimizers, control, hooks, layered } = this.#parts;
    // Looked up again: a hook may have set its own update since the batch was taken.
    const spec = specs.get(this.plan, this.#spec.loader);
    const { rule } = optimizers.slots[index]!;
    const names = specs.trainedBy(spec, index);
    optimizers.fill(control, index);
    const slots = pick(this.#state.opt, specs.slotsOf(names));
    // Between a step's only update and its commit nothing can fail then, or look at what was before.
    const isUnseen = this.due.length === 1 && !hooks.firstListener("afterOptimizerStep");
    const inPlace = isUnseen && this.#engine.syncRead && !layered;
    const program = this.#made.update(spec, index, rule, names, Object.keys(slots), inPlace);
    const grads = pick(this.#open.grads, names);
    const done = this.#run("update", program, pick(this.#state.params, names), slots, grads, this.#putControl(1));
    const step = chain(done, (out) => this.#open.stage(out as Updated, inPlace ? this.#state : undefined));
    if (inPlace && step instanceof Promise) this.#state.take(step);
    return step;
  }

  /** The step is done: parameters, optimizer and model state change together. */
  commit(): MaybePromise<void> {
    this.updated = true;
    this.#parts.optimizers.updated(this.due);
    return this.#open.commit(this.#state, this.readings.totals);
  }

  /** Forgets the open step; parameters, optimizer and model state are as before it. */
  abandon(): void {
    this.#open.abandon();
  }

  /** The micro-batch's gradients, or one optimizer's share of the step's; undefined where there are none. */
  grads(optimizer: number, record: (what: string) => void): Grads | undefined {
    return this.#open.view(this.#parts.specs.trainedBy(this.#spec, optimizer), record);
  }

  /** Computes the current step once more: it was not finite, and changed nothing. */
  diagnose(): Promise<Diagnosis> {
    return this.#suspects.diagnose(this.#step, this.#spec.loader, this.#state.params, async (suspect, look) => {
      this.takeBatch(suspect.host, suspect.loader, suspect.index);
      this.#spec = suspect.spec;
      try {
        await this.backward(suspect.scale);
        await this.readings.settle();
        return await look(this.readings.loss, this.#open.micro!.result!.grads);
      } finally {
        this.dropBatch();
      }
    });
  }

  state(): MaybePromise<StepState> {
    return chain(this.readings.totals.state(), (totals) => ({ totals, frozen: this.#parts.specs.frozen }));
  }

  /** False when the saved sums are of other metrics, so that the epoch's averages start over. */
  load({ totals, frozen }: StepState): boolean {
    this.#parts.specs.freeze(frozen);
    return this.readings.totals.load(totals);
  }

  /** After a failure: frees what the current step has left. */
  dropOpenStep(): void {
    this.#open.forget();
  }

  free(): void {
    this.#open.forget();
    this.#control.free();
    this.readings.free();
  }

  /** Runs a program of the step. If it fails, the error names the current micro-batch. */
  #run<T>(what: string, program: (...args: Tree<Buffer>[]) => MaybePromise<T>, ...args: Tree<Buffer>[]) {
    const source = { what, loader: this.#spec.loader, host: this.#open.micro?.host ?? {} };
    return runProgram(program, source, ...args);
  }

  #putControl(scale: number): Buffer {
    return this.#control.put(scale, this.#open.micro);
  }
}
