// Program specs: what a step's programs are made of now, and the settings of hooks that change it.
import type { UpdateFn } from "../core/optimizer.ts";
import { ContextError } from "../core/errors.ts";
import { measure, samplesIn } from "../core/arrays.ts";
import type { HostBatch, Loss, WeighFn } from "../core/model.ts";
import { selectNames, type NameFilter } from "../core/names.ts";
import { type Probe, TRAIN_PROBE_EVENTS } from "../core/inspection.ts";
import type { Plan } from "../core/loop/session.ts";
import type { OptimizerSet } from "./optimizers.ts";
import type { Problem } from "./problem.ts";
import type { Layering } from "./layered/choose.ts";
import { type Compiled, type ControlLayout, type Cut, IndexRules, type ProgramCache } from "./programs/run.ts";
import type { Buffer } from "../engines/engine.ts";
import type { Buffers } from "./device-state.ts";
import type { LayeredPasses } from "./layered/layered-passes.ts";
import {
  clipGrads,
  fusedStep,
  lossGrads,
  normOf,
  paramOfSlot,
  type ProgramSpec,
  type UpdateRule,
  updateParams,
} from "./programs/programs.ts";
import type { RowsLayout } from "./metrics/rows-layout.ts";
import type { SumsLayouts } from "./programs/sums.ts";
import { safeText } from "../core/safe-text.ts";
import type { HookRegistry } from "../core/registry/registry.ts";

/** A spec with the split of the parameters it implies. */
export interface StepSpec extends ProgramSpec {
  /** Names of parameters that get gradients, in canonical order; the others are constants of the step, as the base is. */
  readonly train: readonly string[];
  readonly frozen: readonly string[];
  /** Optimizers that update, by index. */
  readonly due: readonly number[];
  /** Optimizer state of `train`, by name. */
  readonly slots: readonly string[];
}

export class Specs {
  readonly names: readonly string[];
  /** Those of the parameters, then those of the frozen base. */
  readonly #allNames: readonly string[];
  readonly #problem: Problem;
  readonly #optimizers: OptimizerSet;
  readonly #sums: SumsLayouts;
  readonly #rows: RowsLayout;
  readonly #control: ControlLayout;
  readonly #clip: { readonly clipNorm: boolean; readonly clipValue: boolean };
  readonly #known = new Map<string, StepSpec>();
  /** Functions that hooks have set, so that coming back to one does not compile again. */
  readonly #functions: unknown[] = [null, undefined];
  readonly #warn: (message: string) => void;
  #toldOfMasks = false;
  #loss: Loss | undefined;
  #weighBy: WeighFn | undefined;
  #update: UpdateFn | null = null;
  #frozen: ReadonlySet<string> = new Set();
  /** Asked for in the middle of a step; its gradients must stay those of one set of parameters. */
  #nextFrozen: ReadonlySet<string> = new Set();
  /** The last result of `get`: nearly always the next one too. */
  #last: { readonly plan: Plan; readonly loader: string; readonly spec: StepSpec } | undefined;

  constructor(
    names: readonly string[],
    problem: Problem,
    optimizers: OptimizerSet,
    { sums, rows }: { readonly sums: SumsLayouts; readonly rows: RowsLayout },
    control: ControlLayout,
    clip: { clipNorm: boolean; clipValue: boolean },
    warn: (message: string) => void,
  ) {
    this.names = names;
    this.#allNames = [...names, ...(problem.base?.tensors.keys() ?? [])];
    this.#problem = problem;
    this.#weighBy = problem.weighBy(undefined);
    this.#optimizers = optimizers;
    this.#sums = sums;
    this.#rows = rows;
    this.#control = control;
    this.#clip = clip;
    this.#warn = warn;
  }

  beginStep(): void {
    if (this.#frozen === this.#nextFrozen) return;
    this.#frozen = this.#nextFrozen;
    this.#last = undefined;
  }

  setLoss(loss: Loss): void {
    this.#loss = loss;
    this.#weighBy = this.#problem.weighBy(loss);
    this.#last = undefined;
  }

  /** How much a batch counts next to others under the current loss. */
  weigh(batch: HostBatch, { indices }: StepSpec): number {
    if (this.#weighBy) return measure("weigh", batch, this.#weighBy);
    if (!this.#toldOfMasks) this.#warnOfMasks(indices.masked(batch));
    return samplesIn(batch);
  }

  #warnOfMasks(masked: ReturnType<IndexRules["masked"]>): void {
    if (!masked) return;
    this.#toldOfMasks = true;
    this.#warn(
      `The loss leaves out labels that are ${masked.ignoreIndex} (batch field \`${masked.field}\`), but batches are weighed by their samples, so that micro-batches, ranks and averages count them wrongly. Say how many labels count: give the loss or the trainer a \`weigh\`, such as crossEntropy().weigh.`,
    );
  }

  setUpdate(update: UpdateFn | null): void {
    this.#update = update;
    this.#last = undefined;
  }

  /** The parameters that a filter does not choose. */
  frozenBy(filter: NameFilter): string[] {
    const trained = new Set(selectNames(filter, this.names));
    if (trained.size === 0) {
      throw new ContextError(`ctx.setTrainable matches no parameter. Parameters: ${this.names.join(", ")}.`);
    }
    return this.names.filter((name) => !trained.has(name));
  }

  /** Parameters that the next step leaves alone. */
  get frozen(): readonly string[] {
    return [...this.#nextFrozen];
  }

  freeze(names: readonly string[]): void {
    this.#nextFrozen = new Set(this.names.filter((name) => names.includes(name)));
  }

  /** The spec of a step on this loader's batches. */
  get(plan: Plan, loader: string, replacements: readonly Probe[] = []): StepSpec {
    const last = this.#last;
    if (last?.plan === plan && last.loader === loader && replacements.length === 0) return last.spec;
    const settings = [this.#id(this.#loss), this.#id(this.#update), ...this.#frozen];
    const probes = [plan.probes, replacements].map((list) => this.#probesKey(list));
    const key = [loader, plan.outputs, plan.gradNorm, plan.batchMetrics, ...probes, ...settings].join("|");
    let spec = this.#known.get(key);
    if (!spec) this.#known.set(key, (spec = this.#make(plan, loader, replacements)));
    if (replacements.length === 0) this.#last = { plan, loader, spec };
    return spec;
  }

  /** The parameters of this spec that one optimizer updates. */
  trainedBy({ train }: StepSpec, optimizer: number): readonly string[] {
    const mine = this.#optimizers.paramsOf(optimizer);
    return train.filter((name) => mine.has(name));
  }

  /** Names of these parameters' optimizer state, in the order in which it is kept. */
  slotsOf(params: readonly string[]): string[] {
    const wanted = new Set(params);
    return this.#optimizers.slotNames.filter((name) => wanted.has(paramOfSlot(name)));
  }

  #make(plan: Plan, loader: string, replacements: readonly Probe[]): StepSpec {
    const isTrained = (i: number): boolean => [...this.#optimizers.paramsOf(i)].some((name) => !this.#frozen.has(name));
    const due = this.#optimizers.due(loader).filter(isTrained);
    const rules = due.map((i) => this.#optimizers.slots[i]!.rule);
    const updated = new Set(due.flatMap((i) => [...this.#optimizers.paramsOf(i)]));
    const train = this.names.filter((name) => updated.has(name) && !this.#frozen.has(name));
    return {
      problem: this.#problem,
      indices: new IndexRules(loader),
      loss: this.#loss,
      loader,
      names: this.#allNames,
      sums: this.#sums,
      rows: this.#rows,
      control: this.#control,
      rules,
      update: this.#update,
      ...this.#clip,
      wantOutputs: plan.outputs,
      wantNorm: plan.gradNorm,
      wantBatchSums: plan.batchMetrics,
      probes: plan.probes,
      replacements,
      // Points inside the model are collected and replaced in one program.
      stack: plan.probes.length + replacements.length === 0 ? this.#problem.stack : undefined,
      train,
      due,
      frozen: this.names.filter((name) => !train.includes(name)),
      slots: this.slotsOf(train),
    };
  }

  /** Equal requests have equal keys, whichever hook makes them: a hook that is enabled again finds its program. */
  #probesKey(probes: readonly Probe[]): string {
    if (probes.length === 0) return "";
    return JSON.stringify(
      probes.map(({ request }) => request),
      (_, value: unknown) => (typeof value === "function" ? this.#id(value) : value),
    );
  }

  #id(fn: unknown): number {
    const at = this.#functions.indexOf(fn);
    return at >= 0 ? at : this.#functions.push(fn) - 1;
  }
}

// The programs of a step for a spec: one for each pass, or a stack's passes layer by layer.

/** Indices of the inputs of `fusedStep` that the program may reuse: all but the frozen parameters and the control vector. */
const FUSED = { donate: [0, 1, 2, 3, 5, 7] };
/** A guarded step keeps the state before it until its report says that it counts. */
const GUARDED = { donate: [5, 7] };
const SHOWN_AFTER_FORWARD = ["report", "outputs", "activations"];

export class StepPrograms {
  readonly #programs: ProgramCache;
  readonly #layered: LayeredPasses | undefined;

  constructor(programs: ProgramCache, layered: LayeredPasses | undefined) {
    this.#programs = programs;
    this.#layered = layered;
  }

  /** The whole step. */
  fused(spec: StepSpec, guarded: boolean): Compiled {
    const layered = this.#layered?.fused(spec, guarded);
    if (layered) return layered;
    return guarded
      ? this.#programs.of(spec, "guarded", () => fusedStep(spec), GUARDED)
      : this.#programs.of(spec, "fused", () => fusedStep(spec), FUSED);
  }

  /** The backward pass, cut where the loss is known; undefined where an engine cannot do it. */
  cut(spec: StepSpec): Cut | undefined {
    return this.#layered?.cut(spec) ?? this.#programs.cut(spec, () => lossGrads(spec), SHOWN_AFTER_FORWARD);
  }

  /** Loss and gradients of a micro-batch. `collects`: are activations wanted, too? */
  lossGrads(spec: StepSpec, collects: boolean): Compiled {
    const layered = this.#layered?.lossGrads(spec);
    if (layered) return layered;
    return collects
      ? this.#programs.of(spec, "lossGrads", () => lossGrads(spec))
      : this.#programs.of(spec, "lossGrads only", () => lossGrads({ ...spec, probes: [] }));
  }

  /** One optimizer's update of these parameters and slots; `inPlace`: they and the gradients are gone then. */
  update(
    spec: StepSpec,
    index: number,
    rule: UpdateRule,
    names: readonly string[],
    slots: readonly string[],
    inPlace: boolean,
  ): Compiled {
    const layered = this.#layered?.update(spec, rule, names, slots);
    if (layered) return layered;
    const name = `update ${index}${inPlace ? " in place" : ""}`;
    return this.#programs.of(spec, name, () => updateParams(spec, rule), inPlace ? { donate: [0, 1, 2] } : {});
  }

  /** The step's gradients clipped, and a report of their norms. */
  clip(spec: StepSpec): Compiled {
    const layered = this.#layered?.grads;
    if (layered) return async (grads, control) => layered.clip(spec, grads as Buffers, control as Buffer);
    return this.#programs.of(spec, "clip", () => clipGrads(spec), { donate: [0] });
  }

  /** The norm of all gradients. */
  norm(): Compiled {
    const layered = this.#layered?.grads;
    return layered ? (grads) => layered.norm(grads as Buffers) : this.#programs.once("norm", () => normOf);
  }
}

// The plan follows the listeners: who listens decides how the step is cut into programs.

/** Chooses the cheapest plan that serves every listener. */
export function choosePlan(hooks: HookRegistry, accumulate: number, clips: boolean, processes = 1): Plan {
  const outputsBy = hooks.needing("outputs");
  const finite = hooks.needing("finite") !== undefined;
  const gradNorm = clips || finite || hooks.needing("gradNorm") !== undefined;
  const probes = hooks.probing(...TRAIN_PROBE_EVENTS);
  const batchMetrics = hooks.needing("batchMetrics") !== undefined;
  const shared = { outputs: outputsBy !== undefined, gradNorm, batchMetrics, finite, probes };
  const forward = hooks.firstListener("afterForward", "beforeBackward");
  if (forward)
    return { kind: "forwardFirst", because: `hook \`${forward.hook}\` listens to ${forward.event}`, ...shared };
  const gradients = hooks.firstListener("afterBackward", "beforeOptimizerStep", "gradientClip", "afterOptimizerStep");
  if (gradients)
    return { kind: "split", because: `hook \`${gradients.hook}\` listens to ${gradients.event}`, ...shared };
  if (accumulate > 1) return { kind: "split", because: `accumulate is ${accumulate}`, ...shared };
  if (processes > 1) return { kind: "split", because: `${processes} processes train together`, ...shared };
  return { kind: "fused", because: "nobody listens between the forward pass and the update", ...shared };
}

/** Do both need the same programs? Why they do is another matter. */
export function samePlan(a: Plan, b: Plan): boolean {
  const probes = a.probes.length === b.probes.length && a.probes.every((probe, i) => probe === b.probes[i]);
  const flags = (["kind", "outputs", "gradNorm", "batchMetrics", "finite"] as const).every((key) => a[key] === b[key]);
  return probes && flags;
}

const PROGRAMS: Record<Plan["kind"], string> = {
  fused: "one program: forward, backward and update; gradients never leave the device",
  split: "loss and gradients, then the update",
  forwardFirst:
    "the forward pass first, then loss and gradients (native continues from there, the others compute it again), then the update",
};

/** The same for a model that is computed layer by layer. */
const LAYERED: Record<Plan["kind"], string> = {
  fused: "loss and gradients layer by layer, then the update of each layer in its place",
  split: "loss and gradients layer by layer, then the update",
  forwardFirst:
    "the forward pass layer by layer first, then loss and gradients from the hidden states it kept, then the update",
};

function normReason(plan: Plan, hooks: HookRegistry): string {
  const hook = hooks.needing("gradNorm");
  if (hook) return `hook \`${hook}\` needs it`;
  return plan.finite ? "the guard looks at it" : "clipping is on";
}

/** The plan in words, for `trainer.explainPlan()`. */
export function describePlan(plan: Plan, hooks: HookRegistry, layering: Layering | undefined): string {
  const isLayered = layering?.isOn === true;
  const isProbed = isLayered && plan.probes.length > 0;
  const extras = [
    isProbed ? "one program for all layers, because activations are probed" : layering?.because,
    plan.outputs && `outputs come back, because hook \`${hooks.needing("outputs")}\` needs them`,
    plan.batchMetrics && `metrics of the step come back, because hook \`${hooks.needing("batchMetrics")}\` needs them`,
    plan.probes.length > 0 && `activations come back, because hook \`${plan.probes[0]!.hook}\` probes them`,
    plan.finite && `a step that is not finite changes nothing, because hook \`${hooks.needing("finite")}\` guards it`,
    plan.gradNorm && `the gradient norm is computed, because ${normReason(plan, hooks)}`,
  ].filter(Boolean);
  const programs = isLayered && !isProbed ? LAYERED : PROGRAMS;
  return safeText([`${plan.kind}: ${programs[plan.kind]}`, `because ${plan.because}`, ...extras].join("\n"));
}
