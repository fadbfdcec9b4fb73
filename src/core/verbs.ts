// The verbs of the context, one row each: what it does, where it is valid, how its arguments are checked, and how it is
// applied. The context's methods and their types, the requests that ranks exchange, the audit, the docs and the test
// kit all derive from these rows. To add a verb, add a row.
import { toBatch } from "./arrays.ts";
import type { DeviceTensors } from "./inspection.ts";
import { ContextError } from "./errors.ts";
import { isCustomEvent, type BuiltinEvent } from "./events.ts";
import type { Intervention } from "./interventions.ts";
import type { HostBatch, HostTensors, Loss } from "./model.ts";
import type { NameFilter } from "./names.ts";
import type { UpdateFn } from "./optimizer.ts";
import { show } from "./options.ts";
import type { Run } from "./loop/run.ts";
import { checkSaveOptions, type SaveOptions, type SaveReason, type SaveRequest } from "./saving.ts";

const BEFORE_FORWARD = ["batchBegin", "beforeForward"] as const;
const BEFORE_BACKWARD = [...BEFORE_FORWARD, "afterForward", "beforeBackward"] as const;
const IN_BATCH = [...BEFORE_BACKWARD, "afterBackward"] as const;
const BEFORE_UPDATE = ["stepBegin", "beforeFetch", ...IN_BATCH, "beforeOptimizerStep", "gradientClip"] as const;
const IN_STEP = [...BEFORE_UPDATE, "afterOptimizerStep", "batchEnd", "stepEnd", "command"] as const;
const IN_EPOCH = ["epochBegin", ...IN_STEP] as const;
const IN_EVAL = ["evalBegin", "evalBatchBegin", "evalBatchEnd", "evalEnd"] as const;
const IN_RUN = ["init", "trainBegin", ...IN_EPOCH, ...IN_EVAL, "log", "epochEnd"] as const;
const SAVE_ENDED = ["afterSave", "saveError"] as const;

/**
 * What `ctx.skip` can skip, from narrow to wide, each with the events in which it is not too late. The loop acts on a
 * request, and dispatch.ts ends it with its scope.
 */
export const SKIP_SCOPES = {
  batch: IN_BATCH,
  step: BEFORE_UPDATE,
  epoch: IN_EPOCH,
  save: ["beforeSave"],
} as const satisfies Record<string, readonly BuiltinEvent[]>;

export type SkipScope = keyof typeof SKIP_SCOPES;

/**
 * Which ranks of a process group apply a call.
 * `all`: every rank, when the ranks next exchange their requests.
 * `all, here now`: the calling rank at once, the others when the ranks next exchange their requests.
 * `own`: the calling rank alone.
 * `alike`: the calling rank alone; the argument cannot be sent, so the hook must make the same call on every rank.
 */
type AppliedBy = "all" | "all, here now" | "own" | "alike";

/** A call whose arguments are fine. */
interface Call<Data> {
  /** As the audit shows it, with its argument in short: `setLr(0.001)`. */
  readonly what: string;
  readonly why?: string | undefined;
  /** What `apply` needs. Plain data, unless the verb is applied without being sent. */
  readonly data: Data;
}

export interface Verb<Events, Args extends readonly unknown[], Data> {
  /** For the docs. */
  readonly does: string;
  /** Where it may be called. Custom events allow what `stepEnd` allows. */
  readonly events: Events;
  /** Is it valid in `evaluate()` and `predict()` too? */
  readonly withoutTraining?: boolean;
  /** Default `all`. */
  readonly appliedBy?: AppliedBy | ((data: NoInfer<Data>, event: string, run: Run) => AppliedBy);
  /** Throws where the arguments are wrong in any run. */
  readonly check?: NoInfer<(...args: Args) => void>;
  /** Why this call is not valid although `events` allows the event; undefined if it is. */
  readonly problem?: NoInfer<(event: string, ...args: Args) => string | undefined>;
  /** Turns the arguments into what is recorded and applied. Throws where they do not fit this run. */
  readonly request: (run: Run, ...args: Args) => Call<Data>;
  /** Changes the run. `entry` is the audit's record of the call. */
  readonly apply: (run: Run, data: NoInfer<Data>, entry: Intervention) => void;
}

function whenInvalid(scope: SkipScope, event: string): string {
  if (scope === "save") return "is not valid";
  if (["epochBegin", "stepBegin", "beforeFetch"].includes(event)) return "comes too early";
  return names(IN_EPOCH, event) || event === "beforeSave" ? "comes too late" : "is not valid";
}

const verb = <const Events extends readonly BuiltinEvent[], Args extends readonly unknown[], Data>(
  row: Verb<Events, Args, Data>,
): Verb<Events, Args, Data> => row;

export const VERBS = {
  stop: verb({
    does: "ends the run at the next boundary",
    events: [...IN_RUN, ...SAVE_ENDED],
    check: (reason) => checkReason("stop", reason, "which the run's result will show"),
    request: (_run: Run, reason: string) => ({ what: "stop", why: reason, data: { reason } }),
    apply: (run, { reason }, entry) => void (run.requests.stop ??= { reason, by: entry.who, entry }),
  }),

  skip: verb({
    does: "skips the batch, the step or the rest of the epoch; in `beforeSave`, the save",
    events: [...IN_EPOCH, "beforeSave"],
    appliedBy({ scope }, event) {
      // A batch is this rank's part of one, and the main rank alone saves.
      if (scope === "batch" || scope === "save") return "own";
      // Once the gradients are joined, no rank may leave the step before the others.
      return event === "beforeOptimizerStep" || event === "gradientClip" ? "all" : "all, here now";
    },
    check(scope) {
      if (Object.hasOwn(SKIP_SCOPES, scope)) return;
      const scopes = Object.keys(SKIP_SCOPES).map((name) => `"${name}"`);
      throw new ContextError(`ctx.skip takes ${scopes.join(", ")}, got ${show(scope)}.`);
    },
    problem(event, scope) {
      const valid = SKIP_SCOPES[scope];
      if (names(valid, event)) return undefined;
      return `ctx.skip("${scope}") ${whenInvalid(scope, event)} in \`${event}\`; it works in ${valid.join(", ")}.`;
    },
    request: (_run: Run, scope: SkipScope, reason?: string) => ({
      what: `skip("${scope}")`,
      why: reason,
      data: { scope },
    }),
    apply({ requests }, { scope }) {
      const byWidth = Object.keys(SKIP_SCOPES);
      const isWider = requests.skip === undefined || byWidth.indexOf(scope) >= byWidth.indexOf(requests.skip);
      if (isWider) requests.skip = scope;
    },
  }),

  pause: verb({
    does: "waits at the end of this step until `ctx.continue` or `trainer.continue()`; the run's clock stands still",
    events: [...IN_RUN, ...SAVE_ENDED],
    request: (_run: Run, reason?: string) => ({ what: "pause", why: reason, data: {} }),
    apply: (run) => void (run.requests.pause = true),
  }),

  continue: verb({
    does: "ends a pause",
    events: ["command"],
    request: (_run: Run, reason?: string) => ({ what: "continue", why: reason, data: {} }),
    apply: (run) => void (run.requests.pause = false),
  }),

  remark: verb({
    does: "adds a remark to the record of interventions",
    events: IN_RUN,
    check: (text) => checkReason("remark", text, "as a text"),
    request: (_run: Run, text: string) => ({ what: "remark", why: text, data: {} }),
    apply: () => undefined,
  }),

  replaceBatch: verb({
    does: "uses another batch instead",
    events: [...BEFORE_FORWARD, "evalBatchBegin", "predictBatchBegin"],
    withoutTraining: true,
    appliedBy: "own",
    request: (_run: Run, batch: HostBatch, reason?: string) => ({
      what: "replaceBatch",
      why: reason,
      data: { batch: toBatch(batch, () => `ctx.replaceBatch`) },
    }),
    apply: (run, { batch }) => void (run.requests.batch = batch),
  }),

  scaleLoss: verb({
    does: "multiplies this micro-batch's gradient",
    events: BEFORE_BACKWARD,
    appliedBy: "own",
    check(k) {
      if (typeof k !== "number" || !Number.isFinite(k))
        throw new ContextError(`ctx.scaleLoss takes a finite number, got ${show(k)}.`);
    },
    request: (_run: Run, k: number, reason?: string) => ({ what: `scaleLoss(${k})`, why: reason, data: { k } }),
    apply: (run, { k }) => void (run.requests.scale *= k),
  }),

  setLoss: verb({
    does: "another loss function from the next forward pass on",
    events: IN_RUN,
    appliedBy: "alike",
    check(loss) {
      if (typeof loss === "function") return;
      throw new ContextError(`ctx.setLoss takes a loss function such as crossEntropy(), got ${show(loss)}.`);
    },
    request: (_run: Run, loss: Loss, reason?: string) => ({
      what: `setLoss(${nameOf(loss)})`,
      why: reason,
      data: loss,
    }),
    apply: (run, loss) => run.session.setLoss(loss),
  }),

  setLr: verb({
    does: "another learning rate, kept as a factor on the schedule",
    events: IN_RUN,
    request(run: Run, lr: number | ((current: number) => number), reason?: string) {
      const rates = run.session.optimizers.ratesFor(lr);
      return { what: `setLr(${rates[0]})`, why: reason, data: { rates } };
    },
    apply: (run, { rates }) => run.session.optimizers.setRates(rates),
  }),

  /** `null` gives the step back to the optimizer. */
  setUpdate: verb({
    does: "your own optimizer step from the next update on; `null` gives it back to the optimizer",
    events: IN_RUN,
    appliedBy: "alike",
    request: (_run: Run, update: UpdateFn | null, reason?: string) => ({
      what: `setUpdate(${update === null ? "null" : nameOf(update)})`,
      why: reason,
      data: update,
    }),
    apply: (run, update) => run.session.setUpdate(update),
  }),

  setTrainable: verb({
    does: "which parameters are trained from the next step on; in `stepBegin`, from this one",
    events: IN_RUN,
    request(run: Run, filter: NameFilter, reason?: string) {
      const shown = typeof filter === "function" ? filter.name || "function" : JSON.stringify(filter);
      const frozen = run.session.frozenBy(filter);
      return { what: `setTrainable(${shown})`, why: reason, data: { frozen } };
    },
    apply: (run, { frozen }) => run.session.freeze(frozen),
  }),

  setAccumulate: verb({
    does: "how many micro-batches make a step from the next one on; in `stepBegin`, from this one",
    events: IN_RUN,
    check(n) {
      if (!Number.isSafeInteger(n) || n < 1)
        throw new ContextError(`ctx.setAccumulate takes a whole number ≥ 1, got ${show(n)}.`);
    },
    request: (_run: Run, n: number, reason?: string) => ({ what: `setAccumulate(${n})`, why: reason, data: { n } }),
    apply: (run, { n }) => void (run.accumulate = n),
  }),

  setHook: verb({
    does: "switches a hook on or off from the next event on; kept in checkpoints",
    events: IN_RUN,
    check(_name, enabled) {
      if (typeof enabled !== "boolean")
        throw new ContextError(`ctx.setHook takes true or false, got ${show(enabled)}.`);
    },
    request(run: Run, name: string, enabled: boolean, reason?: string) {
      run.hooks.mustHave(name);
      return { what: `setHook("${name}", ${enabled})`, why: reason, data: { name, enabled } };
    },
    apply: (run, { name, enabled }) => run.hooks.setEnabled(name, enabled),
  }),

  setParams: verb({
    does: "puts other parameters in place for good, such as the best or averaged ones",
    events: ["trainBegin", "stepEnd", "command", "evalEnd", "log", "epochEnd", "trainEnd"],
    appliedBy: "alike",
    request: (_run: Run, params: HostTensors | DeviceTensors, reason?: string) => ({
      what: "setParams",
      why: reason,
      data: params,
    }),
    apply: (run, params) => run.session.setParams(params),
  }),

  swapParams: verb({
    does: "other parameters for this evaluation or prediction",
    events: ["evalBegin", "predictBegin"],
    withoutTraining: true,
    appliedBy: "alike",
    request: (_run: Run, params: HostTensors | DeviceTensors, reason?: string) => ({
      what: "swapParams",
      why: reason,
      data: params,
    }),
    apply: (run, params) => run.session.evaluation.swapParams(params),
  }),

  requestEval: verb({
    does: "an evaluation at the next boundary",
    events: IN_RUN,
    request: (_run: Run, reason?: string) => ({ what: "requestEval", why: reason, data: {} }),
    apply: (run) => void (run.requests.eval = true),
  }),

  requestSave: verb({
    does: "a checkpoint at the next boundary, or at the end of the run",
    events: [...IN_RUN, ...SAVE_ENDED],
    // The main rank alone writes: its own request need not wait.
    appliedBy: (_data, _event, { group }) => (group?.rank === 0 ? "own" : "all"),
    check(reason = "request", options = {}) {
      checkReason("requestSave", reason, "which the checkpoint will show");
      checkSaveOptions("ctx.requestSave", options);
    },
    request(_run: Run, reason: SaveReason = "request", options: SaveOptions = {}) {
      const { at = "boundary", ...rest } = options;
      const what = at === "end" ? "requestSave at the end" : "requestSave";
      return { what, why: reason, data: { at, options: { ...rest, reason } } };
    },
    apply({ requests, isMain }, { at, options }, { who }) {
      if (!isMain) return;
      const key = at === "end" ? "saveAtEnd" : "save";
      requests[key] = mergeSaves(requests[key], { ...options, by: [who] });
    },
  }),

  /** To the newest checkpoint, or to the one of this name. After `maxRollbacks` of them the run stops instead. */
  rollback: verb({
    does: "returns to a checkpoint at the next boundary: parameters, optimizer and model state; then training continues",
    events: ["batchEnd", "stepEnd", "command", ...IN_EVAL, "log", "epochEnd"],
    check(to) {
      if (to !== undefined && (typeof to !== "string" || to === ""))
        throw new ContextError(`ctx.rollback takes the name of a checkpoint, or nothing, got ${show(to)}.`);
    },
    request: (_run: Run, to?: string, reason?: string) => ({
      what: to === undefined ? "rollback" : `rollback("${to}")`,
      why: reason,
      data: { to, reason },
    }),
    apply: (run, { to, reason }, { who }) => void (run.requests.rollback ??= { to, by: who, reason }),
  }),
};

export type VerbName = keyof typeof VERBS;

/** What a hook assigned to a group of an optimizer. */
export interface GroupAssignment {
  readonly lr?: number;
  readonly weightDecay?: number;
  readonly momentum?: number;
}

/** Not a method of the context, but recorded, exchanged and applied as one: `ctx.optimizers[0].groups[0].lr = 0.1`. */
const assign = verb({
  does: "changes one number of a parameter group",
  events: IN_RUN,
  request: (_run: Run, optimizer: number, group: number, key: keyof GroupAssignment, value: number) => ({
    what: `optimizers[${optimizer}].groups[${group}].${key} = ${value}`,
    data: { optimizer, group, values: { [key]: value } satisfies GroupAssignment },
  }),
  apply: (run, { optimizer, group, values }) => run.session.optimizers.assign(optimizer, group, values),
});

/** Everything that hooks can ask of a run, by name. */
export const REQUESTS = { ...VERBS, assign };
export type RequestName = keyof typeof REQUESTS;

/** The arguments of a verb, as hooks pass them. */
export type ArgsOf<V extends RequestName> =
  Parameters<(typeof REQUESTS)[V]["request"]> extends [Run, ...infer Args] ? Args : never;

/** The verbs as methods of the context. */
export type Verbs = { [V in VerbName]: (...args: ArgsOf<V>) => void };

/** The verbs of one event, for its context type. */
export type VerbsOf<E extends BuiltinEvent> = {
  [V in VerbName]: E extends (typeof VERBS)[V]["events"][number] ? V : never;
}[VerbName];

/** The scopes that can be skipped in one event. */
export type SkipScopesOf<E extends BuiltinEvent> = {
  [S in SkipScope]: E extends (typeof SKIP_SCOPES)[S][number] ? S : never;
}[SkipScope];

/** Any row, for code that does not know which. */
export interface AnyVerb extends Pick<Verb<readonly BuiltinEvent[], never[], never>, "check" | "problem" | "apply"> {
  readonly withoutTraining?: boolean;
  readonly appliedBy?: AppliedBy | ((data: never, event: string, run: Run) => AppliedBy);
  readonly request: (run: Run, ...args: never[]) => Call<unknown>;
}

/** Is the event among `events`? Custom events count as `stepEnd`. */
const names = (events: readonly string[], event: string): boolean =>
  events.includes(isCustomEvent(event) ? "stepEnd" : event);

/** Why a verb cannot be called with these arguments in an event; undefined when it can. */
export function verbProblem(name: VerbName, event: string, args: readonly unknown[]): string | undefined {
  const row: AnyVerb = VERBS[name];
  const problem = row.problem?.(event, ...(args as never[]));
  if (problem !== undefined) return problem;
  if (names(VERBS[name].events, event)) return undefined;
  return `ctx.${name} is not valid in \`${event}\`. It works in: ${VERBS[name].events.join(", ")}.`;
}

function checkReason(name: string, reason: unknown, purpose: string): void {
  if (typeof reason === "string" && reason !== "") return;
  throw new ContextError(`ctx.${name} takes a reason, ${purpose}, got ${show(reason)}.`);
}

const nameOf = (fn: object): string => (fn as { readonly name?: string }).name || "anonymous";

/** Joins the saves of one boundary: the first request decides name and format; one that asks to verify is enough. */
function mergeSaves(first: SaveRequest | undefined, next: SaveRequest): SaveRequest {
  if (!first) return next;
  const by = [...new Set([...first.by, ...next.by])];
  // `best` and the like say more than a save that was merely due.
  const reason = ["interval", "request"].includes(first.reason) ? next.reason : first.reason;
  return { ...next, ...first, reason, by, verify: first.verify === true || next.verify === true };
}
