// Recording what a run fires: a hook that listens to everything, and the trace it leaves.
import type { Context } from "../core/context.ts";
import { BUILTIN_EVENTS, EVENTS, methodOf, type BuiltinEvent } from "../core/events.ts";
import type { Hook } from "../core/hook.ts";

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

export interface TraceEntry {
  readonly event: BuiltinEvent;
  /** What the context showed: counters always, and the event's own fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface TraceOptions {
  /** Default: all. Listening between forward and update changes the plan, though not the numbers. */
  readonly events?: readonly BuiltinEvent[];
}

/** A hook that records the run it is attached to. It runs last, so it sees what the others did. */
export interface TraceHook extends Hook {
  readonly entries: readonly TraceEntry[];
  /** The event names in order, the form that golden tests compare. */
  names(): BuiltinEvent[];
  clear(): void;
}

export function recordTrace({ events = BUILTIN_EVENTS }: TraceOptions = {}): TraceHook {
  const entries: TraceEntry[] = [];
  const methods = events.map((event) => {
    const wanted = [...COMMON, ...(EVENTS[event].fields as readonly string[]).filter((field) => PLAIN.includes(field))];
    const record = (ctx: Context): void => {
      const fields = wanted.map((field) => [field, structuredClone(ctx[field as keyof Context])] as const);
      entries.push({ event, fields: { ...Object.fromEntries(fields), metrics: { ...ctx.metrics } } });
    };
    return [methodOf(event), record] as const;
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
