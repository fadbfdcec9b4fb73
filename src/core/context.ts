// The context that hooks see: one live object per hook over the state of its run. Its fields are the rows of FIELDS, its
// verbs those of VERBS (verbs.ts); both are checked against the event that runs now. To add a field, add a row.
import type { HostArray } from "./arrays.ts";
import { type Cadence, DueRules } from "./cadence.ts";
import type { LiveOptimizer, Metrics, Phase, RunStatus } from "./context.types.ts";
import { epochIdx } from "./counters.ts";
import type { Activations, Diagnosis, Grads, ParamsView, ProbeRequest } from "./inspection.ts";
import { ContextError } from "./errors.ts";
import { BUILTIN_EVENTS, type BuiltinEvent } from "./events.ts";
import { HookTurn, type Intervention } from "./interventions.ts";
import { isPromise } from "./maybe.ts";
import { isMedia, type Media } from "./media.ts";
import type { HostBatch, HostTensors, LossModel, Model } from "./model.ts";
import { show } from "./options.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "./run.ts";
import type { Checkpoints, FailedSave, Loading, ResumeReport, SavedCheckpoint, Saving } from "./saving.ts";
import type { Shared } from "./shared.ts";
import { VERBS, type VerbName, type Verbs } from "./verbs.ts";
import { refuseAssignments } from "./write-guard.ts";

const WITH_OUTPUTS = ["batchEnd", "afterForward", "beforeBackward", "afterBackward", "evalBatchEnd"] as const;
const WITH_BATCH = [
  "batchBegin",
  "beforeForward",
  ...WITH_OUTPUTS,
  "evalBatchBegin",
  "predictBatchBegin",
  "predictBatchEnd",
] as const;
const OPTIMIZER = ["beforeOptimizerStep", "gradientClip", "afterOptimizerStep"] as const;

type Read<T> = (run: Run, turn: HookTurn) => T;

/** One field of the context. */
export interface Field<Events extends readonly BuiltinEvent[] | "every event", T> {
  /** Where it can be read. Custom events show only the fields of every event. */
  readonly events: Events;
  readonly read: Read<T>;
  /** What changes it, for those who assign it. */
  readonly instead?: string;
  /** Must it be read while its hook runs, and not later? */
  readonly inTurn?: boolean;
  /** The error for another event. Default: the events that have it. */
  readonly missing?: (event: string) => string;
}

type FieldOptions = Pick<Field<readonly [], unknown>, "instead" | "inTurn" | "missing">;

const always = <T>(read: Read<T>, options: FieldOptions = {}): Field<"every event", T> => ({
  events: "every event",
  read,
  ...options,
});

const only = <const Events extends readonly BuiltinEvent[], T>(
  events: Events,
  read: Read<T>,
  options: FieldOptions = {},
): Field<Events, T> => ({ events, read, ...options });

const noGradients = (event: string): string =>
  `There are no gradients in \`${event}\`. They live from afterBackward to afterOptimizerStep: use onAfterBackward (one micro-batch), onBeforeOptimizerStep (accumulated, before clipping) or onAfterOptimizerStep. For the norm alone, say needs: ["gradNorm"] and read ctx.gradNorm in onStepEnd.`;

export const FIELDS = {
  phase: always((run): Phase => run.phase),
  /** From 0. */
  epoch: always((run): number => epochIdx(run.clock.now)),
  /** The number of the current step, from 1; 0 before the first. */
  step: always((run): number => run.clock.now.step),
  /** Undefined when the length of the run is not known. */
  totalSteps: always((run): number | undefined => run.totalSteps),
  /** Latest value of every metric, including what hooks logged. */
  metrics: always((run): Metrics => run.log.metrics, { instead: "ctx.log({ name: value })" }),
  tokensSeen: always((run): number => run.clock.now.tokens),
  samplesSeen: always((run): number => run.clock.now.samples),
  model: always((run): Model<never> | LossModel => run.host.model),
  params: always((run): ParamsView => run.session.params, { instead: "ctx.setParams(params)" }),
  optimizers: always((run, turn): readonly LiveOptimizer[] => run.host.optimizersFor(turn), {
    instead: "ctx.setLr(lr), or assign to ctx.optimizers[0].groups[0].lr",
  }),
  /** The engine that computes: `native`, `wasm`, `webgpu`, … */
  device: always((run): string => run.session.device),
  /** Seconds that the engine has spent on compiling so far; undefined when it does not report them. */
  compileSeconds: always((run): number | undefined => run.session.compileSeconds),
  paramCount: always((run): number => run.host.paramCount()),
  /**
   * The trainer's options. In an experiment `config.experiment` is the whole configuration: the config as it is written,
   * or the options of the `Experiment`.
   */
  config: always((run): Readonly<Record<string, unknown>> => run.host.config),
  status: always((run): RunStatus => run.status, { instead: "ctx.stop(reason)" }),
  /** Seconds of training, including those before a resume. */
  elapsed: always((run): number => run.elapsed),
  shared: always((run): Shared => run.shared),
  /** This process in its process group, from 0; 0 is the main one. */
  rank: always((run): number => run.group?.rank ?? 0),
  /** How many processes train together; 1 without a process group. */
  worldSize: always((run): number => run.group?.size ?? 1),
  /** Registration and cost of all hooks; changes take effect at the next event. */
  hooks: always((run): HookRegistry => run.host.hooks()),
  /** The run's checkpoints. */
  checkpoints: always((run, { hook }): Checkpoints => run.host.checkpointsFor(hook)),
  /** What hooks have changed so far in this run. */
  interventions: always((run): readonly Intervention[] => run.audit.entries),

  batch: only(WITH_BATCH, (run): HostBatch => run.batch, { instead: "ctx.replaceBatch(batch)" }),
  /** From 0, within the epoch (or the evaluation). */
  batchIdx: only([...WITH_BATCH, "beforeFetch"], (run): number => run.batchIdx),
  loaderIdx: only([...WITH_BATCH, "beforeFetch"], (run): number => run.loaderIdx),
  loaderName: only(
    [...WITH_BATCH, "beforeFetch", "evalBegin", "evalEnd", "predictBegin", "predictEnd"],
    (run): string => run.loaderName,
  ),
  optimizerIdx: only(OPTIMIZER, (run): number => run.optimizerIdx),
  /** The rate this step uses: the first group of the first optimizer, or of the current one. */
  lr: only(["stepBegin", "stepEnd", ...OPTIMIZER], (run): number => run.session.optimizers.stepRate(run.optimizerIdx), {
    instead: "ctx.setLr(lr)",
  }),
  grads: only(["afterBackward", ...OPTIMIZER], (run, turn) => gradsOf(run, turn), {
    inTurn: true,
    missing: noGradients,
  }),
  /**
   * The micro-batch's loss; in `stepEnd` and the optimizer events the mean over the step's micro-batches; in `epochEnd`
   * and `trainEnd` that of the last step; in `evalBatchEnd` that of the evaluation batch. NaN before there is one.
   */
  loss: only(
    [...WITH_OUTPUTS, ...OPTIMIZER, "stepEnd", "epochEnd", "trainEnd"],
    (run): number =>
      run.phase === "train" ? (run.stepLoss ?? run.session.readings.loss) : run.session.evaluation.loss,
    { instead: "ctx.scaleLoss(k) or ctx.setLoss(loss)" },
  ),
  /** Host copies of the model's outputs; a hook that reads them says `needs: ["outputs"]`. */
  outputs: only([...WITH_OUTPUTS, "predictBatchEnd"], (run): HostArray | HostTensors => {
    if (run.phase === "predict") return run.predicted;
    return run.phase === "train" ? run.session.readings.outputs : run.session.evaluation.outputs;
  }),
  /** Points inside the model, for hooks with `probes`: those of the last micro-batch, in the order of the program. */
  activations: only([...WITH_OUTPUTS, "stepEnd"], (run, { probes }): Activations => {
    if (probes) return (run.phase === "train" ? run.session.readings : run.session.evaluation).activations(probes);
    throw new ContextError(
      `This hook did not ask for activations. Say probes: { match: "*" } on it; trainer.probePoints() lists the points.`,
    );
  }),
  /** Mean loss of this epoch so far, weighted by samples; in `trainEnd` of the last epoch. NaN before there is one. */
  avgLoss: only(["batchEnd", "stepEnd", "epochEnd", "trainEnd"], (run): number => run.session.readings.avgLoss),
  /**
   * The trainer's metrics of this batch alone: in `evalBatchEnd` of the evaluation batch, in `batchEnd` of the
   * micro-batch, in `stepEnd` of all micro-batches of the step. In training a hook that reads them says
   * `needs: ["batchMetrics"]`. Empty when the batch was skipped. In a process group a batch is this rank's part of it; in
   * `stepEnd` the metrics are those of all ranks.
   */
  batchMetrics: only(["batchEnd", "stepEnd", "evalBatchEnd"], (run): Metrics => {
    if (run.phase !== "train") return run.session.evaluation.batchMetrics;
    const { step, readings } = run.session;
    if (step.plan.batchMetrics) return run.inStep ? readings.batchMetrics : readings.stepMetrics;
    throw new ContextError(
      `ctx.batchMetrics is not computed in this step. Say needs: ["batchMetrics"] on the hook that reads it.`,
    );
  }),
  /** Global gradient norm before clipping; when clipping is on or a hook says `needs: ["gradNorm"]`. */
  gradNorm: only(
    ["gradientClip", "afterOptimizerStep", "stepEnd"],
    (run): number => run.stepNorm ?? run.session.readings.gradNorm,
  ),
  clippedNorm: only(["gradientClip"], (run): number => run.session.readings.clippedNorm),
  /** False when the step changed nothing because its loss or gradient is NaN or infinite; for hooks with `needs: ["finite"]`. */
  finite: only(["stepEnd"], (run): boolean => isFiniteStep(run)),
  /** Computes a step that is not finite once more, to find what was bad first; only when `finite` is false. */
  diagnose: only(
    ["stepEnd"],
    (run) => (): Promise<Diagnosis> => {
      if (!isFiniteStep(run)) return run.session.step.diagnose();
      throw new ContextError(`ctx.diagnose looks at a step that is not finite; this one was. Check ctx.finite first.`);
    },
    { inTurn: true },
  ),
  skipped: only(["batchEnd", "stepEnd"], (run): boolean => run.skipped, { instead: 'ctx.skip("step")' }),
  /** True when the epoch or the evaluation was interrupted. */
  partial: only(["epochEnd", "evalEnd"], (run): boolean => run.partial),
  /** The metrics of this evaluation. */
  evalMetrics: only(["evalEnd"], (run): Metrics => run.evalMetrics),
  /** What this boundary logs. */
  logged: only(["log", "trainEnd"], (run): Metrics => run.log.logged),
  /** Histograms, texts and images that hooks logged since the last boundary that logged. */
  media: only(["log", "trainEnd"], (run): Readonly<Record<string, Media>> => run.log.media),
  reason: only(["trainEnd"], (run): string => run.reason),
  requestedBy: only(["trainEnd"], (run): string => run.requestedBy),
  error: only(["exception"], (run): unknown => run.error),
  /** What is about to be written. */
  saving: only(["beforeSave"], (run): Saving => run.saving),
  /** The checkpoint that has become durable, with the step and metrics of its snapshot. */
  saved: only(["afterSave"], (run): SavedCheckpoint => run.saved),
  failedSave: only(["saveError"], (run): FailedSave => run.failedSave),
  loading: only(["beforeLoad"], (run): Loading => run.loading),
  loaded: only(["afterLoad"], (run): ResumeReport => run.loaded),
};

export type FieldName = keyof typeof FIELDS;
type ValueOf<F> = F extends Field<infer _Events, infer T> ? T : never;

/** Every field by name; `B` is the type of the batches. */
export type ContextFields<B = HostBatch> = {
  readonly [F in FieldName]: F extends "batch" ? B : ValueOf<(typeof FIELDS)[F]>;
};

/** What is neither a field nor an intervention. */
export interface ContextMethods {
  /** Records metrics at this step: later hooks of the same event see them in `ctx.metrics`, loggers write them. */
  log(values: Readonly<Record<string, number | Media>>): void;
  /** Is this cadence due at this event? For a hook with a cadence for only some of what it does; for all of it, say `every`. */
  due(cadence: Cadence): boolean;
}

const fieldNames = Object.keys(FIELDS) as FieldName[];
const eventsWith = (field: FieldName): readonly string[] => FIELDS[field].events as readonly string[];

/** The fields that every event has. */
export const COMMON_FIELDS = fieldNames.filter((field) => FIELDS[field].events === "every event");

/** The fields that an event has besides those. */
export const fieldsOf = (event: string): FieldName[] =>
  fieldNames.filter((field) => FIELDS[field].events !== "every event" && eventsWith(field).includes(event));

function isFiniteStep({ session: { step } }: Run): boolean {
  if (step.plan.finite) return step.finite;
  throw new ContextError(`ctx.finite is not checked in this step. Say needs: ["finite"] on the hook that reads it.`);
}

function gradsOf(run: Run, turn: HookTurn): Grads {
  // The gradients of a micro-batch are this rank's own; those of the step are joined, and must stay equal on all ranks.
  const isOwn = run.turn.event === "afterBackward";
  const record = (what: string): void => (isOwn ? turn.record(what) : turn.recordOnAllRanks(what));
  const grads = run.session.step.grads(run.optimizerIdx, record);
  if (grads) return grads;
  throw new ContextError(noGradients(turn.event("grads")));
}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- the static block defines what is declared here
export interface Context extends ContextFields, Verbs {}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- see above
export class Context implements ContextMethods {
  readonly #run: Run;
  readonly #turn: HookTurn;
  readonly #rules: DueRules;
  /** The event whose fields are shown instead of those of the current one. */
  #recalled: string | undefined;

  constructor(hook: string, run: Run, probes?: ProbeRequest, isMainOnly = false) {
    this.#run = run;
    this.#turn = new HookTurn(this, run, hook, probes, isMainOnly);
    this.#rules = new DueRules(hook);
  }

  static {
    for (const name of fieldNames) this.#defineField(name);
    for (const name of Object.keys(VERBS) as VerbName[]) {
      const value = function (this: Context, ...args: readonly unknown[]): void {
        this.#turn.call(name, args);
      };
      Object.defineProperty(this.prototype, name, { value, configurable: true });
    }
  }

  static #defineField(name: FieldName): void {
    const {
      events,
      read,
      inTurn = false,
      missing,
    }: Field<readonly BuiltinEvent[] | "every event", unknown> = FIELDS[name];
    const shownIn = events === "every event" ? undefined : new Set<string>(events);
    function get(this: Context): unknown {
      if (shownIn !== undefined) {
        if (inTurn) this.#turn.event(name);
        const event = this.#recalled ?? this.#run.turn.event;
        if (event !== null && !shownIn.has(event)) {
          const known = BUILTIN_EVENTS.filter((each) => shownIn.has(each));
          const message = `ctx.${name} is not available in \`${event}\`. It is in: ${known.join(", ")}.`;
          throw new ContextError(missing?.(event) ?? message);
        }
      }
      return read(this.#run, this.#turn);
    }
    Object.defineProperty(this.prototype, name, { get, configurable: true });
  }

  /** The hook this context belongs to. */
  get hook(): string {
    return this.#turn.hook;
  }

  /** What a custom event was fired with. */
  get payload(): unknown {
    return this.#run.payload;
  }

  log(values: Readonly<Record<string, number | Media>>): void {
    this.#turn.event("log");
    if (typeof values !== "object" || values === null) {
      throw new ContextError(`ctx.log takes numbers by name, such as { drift: 0.1 }, got ${show(values)}.`);
    }
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === "number" || isMedia(value)) continue;
      throw new ContextError(
        `ctx.log takes numbers, histogram(…), text(…) and image(…), but \`${name}\` is ${show(value)}.`,
      );
    }
    this.#run.log.report(values);
  }

  due(cadence: Cadence): boolean {
    const event = this.#turn.event("due");
    return this.#rules.due(cadence, this.#recalled ?? event, this.#run.moment);
  }

  /**
   * Shows the fields of `event`, as its last occasion left them, while `call` runs: for a cadence with `atEnd`. Verbs
   * stay those of the current event.
   */
  recall(event: string, call: () => void | Promise<void>): void | Promise<void> {
    const forget = (): void => void (this.#recalled = undefined);
    this.#recalled = event;
    let pending: Promise<void> | undefined;
    try {
      pending = call() ?? undefined;
    } finally {
      if (!isPromise(pending)) forget();
    }
    return isPromise(pending) ? pending.finally(forget) : undefined;
  }
}

const instead = new Map<string, string>([["stop", "ctx.stop(reason)"]]);
for (const name of fieldNames) {
  const { instead: advice }: FieldOptions = FIELDS[name];
  if (advice !== undefined) instead.set(name, advice);
}
refuseAssignments(Context, instead);
