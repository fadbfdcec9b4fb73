// The computing side of a step: which programs run, on which buffers, and when their results become the state.
import type { Diagnosis, Grads } from "../core/inspection.ts";
import type { HostBatch, MaybePromise, Share } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Plan, Work } from "../core/work.ts";
import { freeAll, type Buffer, type Engine } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import { BatchInput, ControlInput, type ControlLayout } from "./inputs.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import type { JointStep } from "./joint-step.ts";
import { OpenStep, pick } from "./open-step.ts";
import type { OptimizerSet } from "./optimizers.ts";
import { type Specs, type StepSpec, choosePlan, samePlan } from "./specs.ts";
import { ProgramCache } from "./programs/compiled.ts";
import { clipGrads, fusedStep, normOf, updateParams } from "./programs/programs.ts";
import type { StepOptions, StepParts, StepState } from "./step-parts.ts";
import { StepPasses, type Pass } from "./step-passes.ts";
import { StepReadings } from "./readings.ts";
import { Suspects } from "./diagnose.ts";
import { Totals } from "./averages.ts";

type FusedResult = Pass & { readonly params: Buffers; readonly opt: Buffers };

/** Everything but the frozen parameters and the control vector is the program's to reuse. */
const FUSED = { donate: [0, 1, 2, 3, 5, 7] };
/** A guarded step keeps the state before it until its report says that it counts. */
const GUARDED = { donate: [5, 7] };

const NOTHING: Buffers = {};

/** Keys of ranks lie this far apart: more micro-batches than a step will ever have. */
const RANK_STRIDE = 2 ** 20;

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
  readonly #layout: ControlLayout;
  readonly #control: ControlInput;
  readonly #hooks: HookRegistry;
  readonly #options: StepOptions;
  readonly #programs: ProgramCache;
  readonly #input: BatchInput;
  readonly #totals: Totals;
  readonly #open: OpenStep;
  readonly #passes: StepPasses;
  readonly #suspects: Suspects;
  /** Where several processes train together: their gradients as one. */
  readonly #joint: JointStep | undefined;
  /** What the plan was chosen for: it is looked at again when one of them changes, or when a cadence decides. */
  #planned = { hooks: -1, accumulate: 0 };
  #step = 0;
  #spec: StepSpec;
  /** Of the last backward pass. */
  #scale = 1;

  constructor(parts: StepParts) {
    const { engine, optimizers, options } = parts;
    this.#engine = engine;
    this.#state = parts.state;
    this.#optimizers = optimizers;
    this.#specs = parts.specs;
    this.#layout = parts.control;
    this.#control = new ControlInput(engine, parts.control, options);
    this.#hooks = parts.hooks;
    this.#options = options;
    this.#programs = new ProgramCache(engine, parts.functions);
    this.#input = new BatchInput(engine, parts.warn);
    this.#totals = new Totals(engine, parts.sums);
    this.shown = new StepReadings(engine, this.#totals, parts.sums);
    this.#open = new OpenStep(engine, this.#programs);
    this.#passes = new StepPasses({
      programs: this.#programs,
      state: this.#state,
      totals: this.#totals,
      open: this.#open,
      shown: this.shown,
      control: this.#control,
    });
    this.#suspects = new Suspects(engine, this.#programs, parts.probes);
    this.#joint = parts.joint;
    this.clips = options.clipNorm !== undefined || options.clipValue !== undefined;
    this.tied = optimizers.tied;
    this.plan = this.#choosePlan(1);
    this.#spec = this.#specs.get(this.plan, "");
  }

  get kept(): number {
    return this.#open.kept;
  }

  beginStep(step: number, epoch: number): void {
    this.#step = step;
    this.#optimizers.schedule(() => ({ step: step - 1, epoch, ...this.#options.totals() }));
    this.shown.beginStep();
    this.#suspects.clear();
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

  takeBatch(host: HostBatch, loader: string, micro: number, share?: Share): number {
    this.#spec = this.#specs.get(this.plan, loader);
    const weight = share?.empty ? 0 : this.#specs.weigh(host, this.#spec);
    this.due = this.#spec.due;
    this.#spec.indices.check(host);
    const batch = this.#input.put(host, loader);
    const key = this.#engine.put({ data: this.#key(micro), shape: [2] });
    const part = share && this.#partInLoss(weight / share.samples);
    this.#open.micro = { host, loader, index: micro, weight, part, batch, key };
    return weight;
  }

  /**
   * A process's part of the whole batch, where its gradient may come out of the backward pass in that proportion, which
   * costs nothing. Not when someone looks at it before it is joined, and only where both ways give the same bits.
   */
  #partInLoss(part: number): number | undefined {
    const free = this.#planned.accumulate === 1 && !this.#hooks.firstListener("afterBackward");
    return free && part > 0 && Number.isInteger(Math.log2(part)) ? part : undefined;
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
    for (const i of this.due) this.#optimizers.fill(this.#layout, i);
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
    const inputs = [train, slots, state, this.#totals.sums, frozen, batch, control, key];
    const done = this.#open.run("step", spec, program, ...inputs);
    this.#open.release(true);
    const step = chain(done, (out) => {
      const result = out as unknown as FusedResult;
      this.shown.show(result);
      this.shown.metrics.set(result.batchSums, weight);
      this.shown.metrics.keep();
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
    if (!guarded) this.#state.take(step);
    return step;
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
    return this.#passes.forward(this.#spec);
  }

  backward(scale: number): MaybePromise<void> {
    this.#scale = scale;
    return this.#passes.backward(this.#spec, scale, this.plan.kind !== "forwardFirst");
  }

  keepBatch(): MaybePromise<void> {
    this.#use(this.#scale);
    this.shown.metrics.keep();
    return this.#open.keep();
  }

  dropBatch(): void {
    this.shown.metrics.drop();
    this.#open.drop();
  }

  async joinGrads(loader: string, keeps: boolean, samples: number): Promise<number | undefined> {
    const own = this.#open.kept > 0 ? this.#spec : this.#specs.get(this.plan, loader);
    this.#spec = own;
    this.due = own.due;
    const loss = await this.#joint!.join(this.#open, own.train, keeps, samples);
    if (loss !== undefined) {
      this.shown.scalars.setLoss(loss);
      this.shown.metrics.join(this.#open.counted!);
    }
    return loss;
  }

  gatherGrads(): MaybePromise<void> {
    return chain(this.#open.gather(), () => {
      // Clipping computes the norm on its way, but a guard must know before.
      if (!this.plan.gradNorm || (this.clips && !this.plan.finite)) return undefined;
      const program = this.#programs.once("norm", () => normOf);
      return chain(this.#open.run("norm", this.#spec, program, this.#open.grads), (norm) => {
        this.shown.scalars.set("norm", norm as Buffer);
        return this.shown.scalars.settle();
      });
    });
  }

  clip(): MaybePromise<void> {
    const program = this.#programs.of(this.#spec, "clip", () => clipGrads(this.#spec), { donate: [0] });
    return chain(this.#open.run("clipping", this.#spec, program, this.#open.grads, this.#putControl(1)), (out) => {
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
    this.#optimizers.fill(this.#layout, index);
    const program = this.#programs.of(spec, `update ${index}`, () => updateParams(spec, rule));
    const slots = pick(this.#state.opt, this.#specs.slotsOf(names));
    const grads = pick(this.#open.grads, names);
    const inputs = [pick(this.#state.params, names), slots, grads, this.#putControl(1)];
    const done = this.#open.run("update", spec, program, ...inputs);
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

  diagnose(): Promise<Diagnosis> {
    return this.#suspects.diagnose(this.#step, this.#spec.loader, this.#state.params, async (suspect, look) => {
      this.takeBatch(suspect.host, suspect.loader, suspect.index);
      this.#spec = suspect.spec;
      try {
        await this.backward(suspect.scale);
        await this.shown.settle();
        return await look(this.shown.loss, this.#open.micro!.result!.grads);
      } finally {
        this.dropBatch();
      }
    });
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

  observe(metrics: Readonly<Record<string, number>>, after: "eval" | "epoch"): void {
    this.#optimizers.observe(metrics, after);
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
    this.#control.free();
    this.#totals.free();
    this.shown.free();
  }

  /** Remembers the micro-batch at hand, should a guarded step turn out bad. */
  #use(scale: number): void {
    if (this.plan.finite) this.#suspects.add(this.#open.micro!, this.#spec, scale);
  }

  #putControl(scale: number): Buffer {
    return this.#control.put(scale, this.#open.micro);
  }
}
