// Recording what a run fires: a hook that listens to everything, and the trace it leaves.
import type { Context } from "../core/context.ts";
import {
  BUILTIN_EVENTS,
  EVENTS,
  methodOf,
  PIPELINE_EVENTS,
  type BuiltinEvent,
  type PipelineEvent,
} from "../core/events.ts";
import type { Hook } from "../core/hook.ts";
import type { PipelineContexts } from "../core/pipeline.types.ts";

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

/** Of the loop, or of an experiment around it. */
type TracedEvent = BuiltinEvent | PipelineEvent;

const ALL: readonly TracedEvent[] = [...BUILTIN_EVENTS, ...(Object.keys(PIPELINE_EVENTS) as PipelineEvent[])];

export interface TraceEntry {
  readonly event: TracedEvent;
  /** What the context showed: in the loop counters always, and the event's own fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

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

export function recordTrace({ events = ALL }: TraceOptions = {}): TraceHook {
  const entries: TraceEntry[] = [];
  const methods = events.map((event) => {
    const fieldsOf = isPipeline(event) ? pipelineFields : loopFields(event);
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

const isPipeline = (event: TracedEvent): event is PipelineEvent => Object.hasOwn(PIPELINE_EVENTS, event);

function loopFields(event: BuiltinEvent): (ctx: Context) => TraceEntry["fields"] {
  const wanted = [...COMMON, ...(EVENTS[event].fields as readonly string[]).filter((field) => PLAIN.includes(field))];
  return (ctx) => {
    const fields = wanted.map((field) => [field, structuredClone(ctx[field as keyof Context])] as const);
    return { ...Object.fromEntries(fields), metrics: { ...ctx.metrics } };
  };
}

/** Data and models as they are; results as they were, since later hooks may add to them. */
function pipelineFields(ctx: PipelineContexts[PipelineEvent]): TraceEntry["fields"] {
  const { stop: _stop, shared: _shared, ...fields } = ctx;
  return "results" in fields ? { ...fields, results: { ...fields.results } } : fields;
}
