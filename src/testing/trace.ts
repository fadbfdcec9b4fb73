// Recording what a run fires: a hook that listens to everything, and the trace it leaves.
import { fieldsOf, type Context } from "../core/context.ts";
import { BUILTIN_EVENTS, EVENTS, methodOf, type BuiltinEvent } from "../core/events.ts";
import type { Hook } from "../core/hook.ts";
import { OUTER_EVENTS, type OuterContexts, type OuterEvent } from "../core/outer-events.ts";

/** Fields worth keeping in a trace: plain data, the same on every machine. */
const COMMON = ["phase", "epoch", "step", "totalSteps", "samplesSeen", "tokensSeen", "status"] as const;
const PLAIN = [
  "batchIdx",
  "loaderIdx",
  "loaderName",
  "optimizerIdx",
  "loss",
  "lr",
  "skipped",
  "partial",
  "reason",
  "requestedBy",
  "evalMetrics",
  "logged",
];

/** Of the loop, of an experiment around it, or of a study around that. */
type TracedEvent = BuiltinEvent | OuterEvent;

const ALL: readonly TracedEvent[] = [...BUILTIN_EVENTS, ...(Object.keys(OUTER_EVENTS) as OuterEvent[])];

/** One event, as it was recorded. */
export interface TraceEntry {
  readonly event: TracedEvent;
  /** What the context showed: in the loop counters always, and the event's own fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Options of `recordTrace`. */
export interface TraceOptions {
  /** Default: all. Listening between forward and update changes the plan, though not the numbers. */
  readonly events?: readonly TracedEvent[];
}

/** A hook that records the run it is attached to. It runs last, so it sees what the others did. */
export interface TraceHook extends Hook {
  readonly entries: readonly TraceEntry[];
  /** The event names in order, the form that golden tests compare. */
  names(): TracedEvent[];
  clear(): void;
}

/** A hook that notes every event, for tests of what a run does. */
export function recordTrace({ events = ALL }: TraceOptions = {}): TraceHook {
  const entries: TraceEntry[] = [];
  const methods = events.map((event) => {
    const fieldsOf = isLoop(event) ? loopFields(event) : outerFields;
    return [methodOf(event), (ctx: never): void => void entries.push({ event, fields: fieldsOf(ctx) })] as const;
  });
  return {
    name: "trace",
    stage: "progress",
    onError: "throw",
    ...Object.fromEntries(methods),
    entries,
    names: () => entries.map(({ event }) => event),
    clear: () => void (entries.length = 0),
  };
}

const isLoop = (event: TracedEvent): event is BuiltinEvent => Object.hasOwn(EVENTS, event);

function loopFields(event: BuiltinEvent): (ctx: Context) => TraceEntry["fields"] {
  const shown: readonly string[] = fieldsOf(event);
  const wanted = [...COMMON, ...PLAIN.filter((field) => shown.includes(field))];
  return (ctx) => {
    const fields = wanted.map((field) => [field, structuredClone(ctx[field as keyof Context])] as const);
    return { ...Object.fromEntries(fields), metrics: { ...ctx.metrics } };
  };
}

/** Data, models and trials as they are; results as they were, since later hooks may change them. */
function outerFields(ctx: OuterContexts[OuterEvent]): TraceEntry["fields"] {
  const { stop: _stop, shared: _shared, ...fields } = ctx;
  if ("results" in fields) return { ...fields, results: { ...fields.results } };
  if ("trialStep" in fields) return { ...fields, result: { ...fields.result } };
  return fields;
}
