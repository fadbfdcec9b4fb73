// Tests of one hook without a trainer: a context for one event, a recorded trace replayed, and the state of a checkpoint.
import { CadenceRule, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import { Clock } from "../core/loop/counters.ts";
import { EVENTS, methodOf, type BuiltinEvent } from "../core/events.ts";
import { ContextError } from "../core/errors.ts";
import type { Hook, HookState } from "../core/hook.ts";
import { TUNE_EVENTS, type OuterContexts, type OuterEvent } from "../core/outer-events.ts";
import { Shared } from "../core/shared.ts";
import { VERBS, verbProblem, type AnyVerb, type VerbName } from "../core/verbs.ts";
import type { TraceEntry } from "./trace.ts";
import type { DeviceTensors } from "../core/inspection.ts";
import type { HostTensors } from "../core/model.ts";

/** A verb that the hook under test called. */
export interface VerbCall {
  readonly event: BuiltinEvent | OuterEvent;
  readonly verb: VerbName | "log";
  readonly args: readonly unknown[];
}

const DEFAULTS = {
  phase: "train",
  epoch: 0,
  step: 1,
  totalSteps: 100,
  metrics: {},
  tokensSeen: 0,
  samplesSeen: 0,
  device: "test",
  paramCount: 0,
  config: {},
  status: "training",
  elapsed: 0,
  accumulate: 1,
};

const PIPELINE_DEFAULTS = { experiment: "experiment", seed: 0, runDir: undefined, model: "model", params: {} };
const TUNE_DEFAULTS = { study: "study", seed: 0, dir: undefined, iteration: 0, trials: [] };

/**
 * A context for `event` with these fields. Verbs are checked as in a run and land in `calls`.
 * @example
 * const { ctx, calls } = testContext("stepEnd", { loss: NaN });
 * haltOnNan.onStepEnd(ctx);
 * expect(calls[0].verb).toBe("stop");
 */
export function testContext<E extends BuiltinEvent>(
  event: E,
  fields?: Partial<ContextOf<E>>,
  shared?: Shared,
): { ctx: ContextOf<E>; calls: VerbCall[] };
export function testContext<E extends OuterEvent>(
  event: E,
  fields?: Partial<OuterContexts[E]>,
  shared?: Shared,
): { ctx: OuterContexts[E]; calls: VerbCall[] };
export function testContext(
  event: BuiltinEvent | OuterEvent,
  fields: object = {},
  shared: Shared = new Shared(),
): { ctx: unknown; calls: VerbCall[] } {
  if (Object.hasOwn(EVENTS, event)) return loopContext(event as BuiltinEvent, fields, shared);
  const calls: VerbCall[] = [];
  const stop = (...args: unknown[]): void => void calls.push({ event, verb: "stop", args });
  const defaults = Object.hasOwn(TUNE_EVENTS, event) ? TUNE_DEFAULTS : PIPELINE_DEFAULTS;
  return { ctx: { ...defaults, ...fields, shared, stop }, calls };
}

function loopContext(event: BuiltinEvent, fields: object, shared: Shared): { ctx: unknown; calls: VerbCall[] } {
  const calls: VerbCall[] = [];
  const metrics: Record<string, number> = { ...(fields as { metrics?: Record<string, number> }).metrics };
  const verbs = (Object.keys(VERBS) as VerbName[]).map((verb) => {
    const row: AnyVerb = VERBS[verb];
    const call = (...args: unknown[]): void => {
      row.check?.(...(args as never[]));
      const problem = verbProblem(verb, event, args);
      if (problem !== undefined) throw new ContextError(problem);
      calls.push({ event, verb, args });
    };
    return [verb, call] as const;
  });
  const log = (values: Record<string, number>): void => {
    Object.assign(metrics, values);
    calls.push({ event, verb: "log", args: [values] });
  };
  const shown = { ...DEFAULTS, ...fields };
  const due = (cadence: Cadence): boolean => isDue(event, cadence, shown);
  const onBehalf = (_behalf: unknown, call: () => void): void => call();
  const ctx = { due, wake: () => undefined, onBehalf, ...shown, metrics, shared, ...Object.fromEntries(verbs), log };
  return { ctx, calls };
}

/** As in a run whose last step was the one before, with one micro-batch in each. */
function isDue(event: BuiltinEvent, cadence: Cadence, shown: typeof DEFAULTS): boolean {
  const { step, epoch, samplesSeen: samples, tokensSeen: tokens, totalSteps } = shown;
  const clock = new Clock();
  const elapsed = shown.elapsed * 1000;
  clock.reset({
    step: step - 1,
    epoch: epoch + 1,
    epochsDone: epoch,
    progress: epoch,
    batches: step - 1,
    samples,
    tokens,
    elapsed,
  });
  clock.now.step = clock.now.batches = step;
  return new CadenceRule("ctx.due", cadence, event).due({
    clock,
    seed: 0,
    totalSteps,
    epochBatches: undefined,
    accumulate: 1,
  });
}

/** Runs a recorded trace through one hook, event by event, and returns the verbs it called. */
export async function replay(trace: readonly TraceEntry[], hook: Hook): Promise<VerbCall[]> {
  const all: VerbCall[] = [];
  const shared = new Shared();
  for (const { event, fields } of trace) {
    const { ctx, calls } = testContext(event as BuiltinEvent, fields as never, shared);
    const method = (hook as unknown as Record<string, ((ctx: unknown) => unknown) | undefined>)[methodOf(event)];
    await method?.call(hook, ctx);
    all.push(...calls);
  }
  return all;
}

/**
 * What `load` would get from a checkpoint: plain data after a round trip through JSON, tensors as host arrays.
 * @example other.load?.(await savedState(hook), 1)
 */
export async function savedState(hook: Hook): Promise<HookState> {
  const { json, tensors } = (await hook.state?.()) ?? {};
  return {
    ...(json !== undefined && { json: JSON.parse(JSON.stringify(json)) as HookState["json"] }),
    ...(tensors && { tensors: isOnEngine(tensors) ? await tensors.read() : tensors }),
  };
}

const isOnEngine = (tensors: HostTensors | DeviceTensors): tensors is DeviceTensors =>
  typeof tensors.free === "function";
