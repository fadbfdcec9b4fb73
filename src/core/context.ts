// The context that hooks see: one live object per hook over the state of its run. Every event has the CommonFields
// (common-fields.ts); those of FIELDS and the verbs of VERBS (verbs.ts) are checked against the event that runs now. To add
// a field, add a row.
import type { HostArray } from "./arrays.ts";
import { DueRules, type Cadence } from "./cadence.ts";
import { COMMON_INSTEAD, CommonFields } from "./common-fields.ts";
import { ContextError } from "./errors.ts";
import { BUILTIN_EVENTS, type BuiltinEvent, type CustomEvents, type EventName } from "./events.ts";
import type { Activations, Diagnosis, Grads, ProbeRequest } from "./inspection.ts";
import { type Behalf, HookTurn } from "./interventions.ts";
import { isPromise } from "./maybe.ts";
import { isMedia, type Media } from "./media.ts";
import type { Figure, HostBatch, HostTensors } from "./model.ts";
import { show } from "./options.ts";
import type { Run } from "./loop/run.ts";
import type { FailedSave, Loading, ResumeReport, SavedCheckpoint, Saving } from "./saving.ts";
import { type SkipScopesOf, VERBS, type VerbName, type Verbs, type VerbsOf } from "./verbs.ts";
import { refuseAssignments } from "./write-guard.ts";

/** What runs now: training, an evaluation inside it, or `evaluate`/`predict` on their own. */
export type Phase = "train" | "eval" | "standalone" | "predict";
/** The state of a run, or how it ended. */
export type RunStatus = "training" | "completed" | "stopped" | "interrupted" | "error";
export type Metrics = Readonly<Record<string, number>>;

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

/** A field that only some events have. */
interface Field<Events extends readonly BuiltinEvent[], T> {
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

const only = <const Events extends readonly BuiltinEvent[], T>(
  events: Events,
  read: Read<T>,
  options: FieldOptions = {},
): Field<Events, T> => ({ events, read, ...options });

const noGradients = (event: string): string =>
  `There are no gradients in \`${event}\`. They live from afterBackward to afterOptimizerStep: use onAfterBackward (one micro-batch), onBeforeOptimizerStep (accumulated, before clipping) or onAfterOptimizerStep. For the norm alone, say needs: ["gradNorm"] and read ctx.gradNorm in onStepEnd.`;

/** The fields that only some events have, by name. */
const FIELDS = {
  batch: only(WITH_BATCH, (run): HostBatch => run.readBatch(), { instead: "ctx.replaceBatch(batch)" }),
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
  /** False right after `stepEnd`; true once the step's evaluation, log and save are done, as during a pause. */
  settled: only(["command"], (run): boolean => run.settled),
  /** True when the epoch or the evaluation was interrupted. */
  partial: only(["epochEnd", "evalEnd"], (run): boolean => run.partial),
  /** The metrics of this evaluation. */
  evalMetrics: only(["evalEnd"], (run): Metrics => run.evalMetrics),
  /** What metrics have drawn of this evaluation, such as a confusion matrix. */
  figures: only(["evalEnd"], (run): Readonly<Record<string, Figure>> => run.figures),
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

/** Their types; `B` is the type of the batches. */
type EventFields<B = HostBatch> = {
  readonly [F in FieldName]: F extends "batch" ? B : ValueOf<(typeof FIELDS)[F]>;
};

/** What is neither a field nor an intervention. */
interface ContextMethods {
  /** Records metrics at this step: later hooks of the same event see them in `ctx.metrics`, loggers write them. */
  log(values: Readonly<Record<string, number | Media>>): void;
  /** Is this cadence due at this event? For a hook with a cadence for only some of what it does; for all of it, say `every`. */
  due(cadence: Cadence): boolean;
  /**
   * Makes `command` fire at the end of the current step, or of step `step`, or at once during a pause. May be called at
   * any time, as from a timer. In a process group only the main rank's hooks hear of it.
   */
  wake(step?: number): void;
  /** Records the interventions that `call` makes as asked for by a person: `{ by: "ada@lab3", command: id }`. */
  onBehalf(behalf: Behalf, call: () => void): void;
}

const fieldNames = Object.keys(FIELDS) as FieldName[];

/** The fields that an event has besides the common ones. */
export const fieldsOf = (event: string): FieldName[] =>
  fieldNames.filter((field) => (FIELDS[field].events as readonly string[]).includes(event));

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
export interface Context extends EventFields, Verbs {}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- see above
export class Context extends CommonFields implements ContextMethods {
  readonly #run: Run;
  readonly #turn: HookTurn;
  readonly #rules: DueRules;
  /** The event whose fields are shown instead of those of the current one. */
  #recalled: string | undefined;

  constructor(hook: string, run: Run, probes?: ProbeRequest, isMainOnly = false) {
    const turn = new HookTurn(run, hook, probes, isMainOnly);
    super(run, turn);
    turn.ctx = this;
    this.#run = run;
    this.#turn = turn;
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
    const { events, read, inTurn = false, missing }: Field<readonly BuiltinEvent[], unknown> = FIELDS[name];
    const shownIn = new Set<string>(events);
    function get(this: Context): unknown {
      if (inTurn) this.#turn.event(name);
      const event = this.#recalled ?? this.#run.turn.event;
      if (event === null || shownIn.has(event)) return read(this.#run, this.#turn);
      const known = BUILTIN_EVENTS.filter((each) => shownIn.has(each)).join(", ");
      throw new ContextError(missing?.(event) ?? `ctx.${name} is not available in \`${event}\`. It is in: ${known}.`);
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

  wake(step?: number): void {
    this.#run.wake(step);
  }

  onBehalf(behalf: Behalf, call: () => void): void {
    this.#turn.event("onBehalf");
    this.#turn.onBehalf(behalf, call);
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

const instead = new Map<string, string>([["stop", "ctx.stop(reason)"], ...Object.entries(COMMON_INSTEAD)]);
for (const name of fieldNames) {
  const { instead: advice }: FieldOptions = FIELDS[name];
  if (advice !== undefined) instead.set(name, advice);
}
refuseAssignments(Context, instead);

/** What every event has. */
type CommonContext = ContextMethods & Pick<CommonFields, keyof CommonFields>;

/** The fields that an event has besides. */
type FieldsOf<E extends BuiltinEvent> = {
  [F in FieldName]: E extends (typeof FIELDS)[F]["events"][number] ? F : never;
}[FieldName];

type BuiltinContext<E extends BuiltinEvent, B> = CommonContext &
  Pick<EventFields<B>, FieldsOf<E>> &
  Pick<Verbs, Exclude<VerbsOf<E>, "skip">> &
  (SkipScopesOf<E> extends never ? unknown : { skip(scope: SkipScopesOf<E>, reason?: string): void });

/** The context as one event shows it: a field or verb that is not valid there is a compile error. */
export type ContextOf<E extends EventName, B = HostBatch> = E extends BuiltinEvent
  ? BuiltinContext<E, B>
  : E extends keyof CustomEvents
    ? CommonContext &
        Pick<Verbs, Exclude<VerbsOf<"stepEnd">, "skip">> & {
          skip(scope: SkipScopesOf<"stepEnd">, reason?: string): void;
          readonly payload: CustomEvents[E];
        }
    : never;
