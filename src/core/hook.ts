// What a hook is: a plain object (or class instance) with a name and any of the event methods.
import type { Cadence } from "./cadence.ts";
import type { ContextOf } from "./context.ts";
import type { DeviceTensors, ProbeRequest } from "./inspection.ts";
import type { EventName, MethodOf } from "./events.ts";
import type { Json } from "./options.ts";
import type { HostBatch, HostTensors } from "./model.ts";
import type { OuterContexts, OuterEvent } from "./outer-events.ts";

/** Order of kinds: whatever the time of registration, an earlier stage runs before a later one. */
export const STAGES = ["user", "monitor", "checkpoint", "logger", "progress"] as const;
/** When a hook runs within an event: stage by stage, in this order. */
export type Stage = (typeof STAGES)[number];

/** What happens when a hook throws: end the run, warn and continue, or switch the hook off. */
export const ERROR_POLICIES = ["throw", "warn", "disable"] as const;
/** What happens when a hook throws: end the run, warn and continue, or switch the hook off. */
export type ErrorPolicy = (typeof ERROR_POLICIES)[number];

/**
 * Costly things that the step computes only when someone says so. `finite` also guards the step: one whose loss or
 * gradient norm is NaN or infinite changes nothing and shows as skipped.
 */
export const NEEDS = ["gradNorm", "outputs", "batchMetrics", "finite"] as const;
/** Costly things that the step computes only when a hook says so. */
export type Need = (typeof NEEDS)[number];

/** What a hook keeps in a checkpoint: plain data, and tensors apart. */
export interface HookState {
  readonly json?: Json;
  readonly tensors?: HostTensors;
}

/** What `state()` returns: its tensors may still be on the engine, and have a file of their own. */
export interface GivenState {
  readonly json?: Json;
  readonly tensors?: HostTensors | DeviceTensors;
  /** Keeps the tensors in `<file>.safetensors`, for others to read, instead of with those of all hooks. `model-…` gets the model's buffers too. */
  readonly file?: string;
}

/** What it returns is awaited when it is a promise, and else ignored. A method type rather than a function type, so that a hook typed for its own batches fits any trainer. */
type Listener<E extends EventName, B> = { method(ctx: ContextOf<E, B>): unknown }["method"];

type HookMethods<B = HostBatch> = {
  [E in EventName as MethodOf<E>]?: Listener<E, B>;
};

/** The same of the events around training. What `onDataRead` returns replaces the data. */
type OuterMethods = {
  [E in OuterEvent as MethodOf<E>]?: { method(ctx: OuterContexts[E]): unknown }["method"];
};

interface HookSettings {
  /** Unique in a trainer. */
  readonly name: string;
  /** Default `user`. */
  readonly stage?: Stage;
  /** Names of hooks that must run after this one; overrides stages. */
  readonly before?: string | readonly string[];
  /** Names of hooks that must run before this one; overrides stages. */
  readonly after?: string | readonly string[];
  /** Default: `throw`; for loggers and progress `warn`. */
  readonly onError?: ErrorPolicy;
  readonly needs?: readonly Need[];
  /** Metrics that it cannot do without: if nothing provides one of them, `fit` fails before the first step. */
  readonly monitors?: readonly string[];
  /** Metrics that it logs with `ctx.log` and that others may watch; `*` stands for any text: `"grad/*"`. */
  readonly logs?: readonly string[];
  /** Points inside the model, to be seen in `ctx.activations` or, in evaluation and predict, replaced. */
  readonly probes?: ProbeRequest;
  /**
   * How often: its step, batch, optimizer, eval and epoch events pass only when all of these are due; run events always.
   * Between times the hook costs nothing: a step whose gradients nobody will see is computed in one program.
   */
  readonly every?: Cadence | readonly Cadence[];
  /**
   * `log` fires for this hook in these steps too, whatever the trainer's `logEvery` says. A hook with `every` that
   * listens to `log` has no need of it.
   */
  readonly logEvery?: Cadence;
  /** Only events of these loaders (batch, forward and backward, eval events). */
  readonly loaders?: readonly string[];
  /** Only events of these optimizers, by name or index. */
  readonly optimizers?: readonly (string | number)[];
  /** Which processes of a distributed run: the first, or all. Default `all`. */
  readonly ranks?: "main" | "all";
  /** Milliseconds per call; a hook that takes longer on average is named in the report. */
  readonly budget?: number;
  /** Version of `state()`'s form, handed to `load`. Default 1. */
  readonly version?: number;
  /** What to keep in a checkpoint; a promise when tensors must be read from the engine first. */
  state?(): GivenState | Promise<GivenState>;
  load?(state: HookState, version: number): void | Promise<void>;
}

/** A plain object with a unique `name` and a method for each event that it listens to: `onStepEnd(ctx)`. */
export type Hook<B = HostBatch> = HookSettings & HookMethods<B> & OuterMethods;

/** A hook as `trainer.hooks.list()` describes it. */
export interface HookInfo {
  readonly name: string;
  readonly stage: Stage;
  readonly enabled: boolean;
  readonly events: readonly string[];
  /** Hooks that it asked to run before or after, if any. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** Its budget in milliseconds, if it has one. */
  readonly budget?: number;
}

/** An error that a hook's policy kept from ending the run. */
export interface HookFailure {
  readonly hook: string;
  readonly event: string;
  readonly step: number;
  readonly error: unknown;
}
