// The table of events: hook methods, context types, docs and the completeness test derive from it. To add one, add a row.
//
// The loop, with every event where it fires ( [x] = only when due; × = repeated ):
//
//   init
//   [beforeLoad → afterLoad]
//   trainBegin
//   [eval … → log]                              before the first step, or one that a signal interrupted
//   for each epoch:
//     epochBegin
//     for each step:
//       stepBegin
//       for each micro-batch (× accumulate):
//         beforeFetch
//         batchBegin
//         beforeForward  …  afterForward
//         beforeBackward …  afterBackward
//         batchEnd                              (the batch that closes the step: after the update)
//       beforeOptimizerStep                     for each optimizer that is due: accumulated gradients, before clipping
//       [gradientClip]                          for each of them, when clipping is on
//       (update → afterOptimizerStep) ×         one after the other
//       batchEnd                                of the closing batch
//       stepEnd
//       [command]                               when `ctx.wake` was called
//       [beforeLoad → afterLoad]                a rollback, when a hook asked for it
//       [evalBegin → (evalBatchBegin → evalBatchEnd) × → evalEnd]
//       [log]
//       [beforeSave … afterSave | saveError]    when it is durable, or failed: at this boundary or a later one
//       [pause → (command …) × → continue]      while a hook has the run paused
//     [eval …]
//     epochEnd
//     [log]
//     [beforeSave … afterSave]
//   [eval … → log]                              the last one, when the cadence asks for it
//   [exception]
//   [beforeSave … afterSave]                    the last one, when a hook asked for it
//   trainEnd
//   close
//
//   predict: init → predictBegin → (predictBatchBegin → predictBatchEnd) × → predictEnd → close

import { HookRegistrationError } from "./errors.ts";
import { OUTER_EVENTS, type OuterEvent } from "./outer-events.ts";

/** Where an event belongs; the level decides the unit of a bare number in a cadence. */
export type EventLevel =
  | "run"
  | "epoch"
  | "step"
  | "batch"
  | "forward / backward"
  | "optimizer"
  | "eval"
  | "predict"
  | "checkpoint"
  | "log"
  | "pipeline"
  | "tune"
  | "custom";

export interface EventInfo {
  readonly level: EventLevel;
  /** When it fires, for the docs table. */
  readonly when: string;
}

export const EVENTS = {
  init: { level: "run", when: "once per `fit`, `evaluate` or `predict`, before anything else" },
  trainBegin: { level: "run", when: "before the first epoch" },
  trainEnd: {
    level: "run",
    when: "after the last epoch, whether the run completed, stopped, was interrupted or failed",
  },
  exception: { level: "run", when: "when the run failed, before `trainEnd`; reaches every hook" },
  close: { level: "run", when: "last of all, always; reaches every hook, even when another one fails" },
  command: {
    level: "run",
    when: "after `stepEnd`, or during a pause, when `ctx.wake` was called: for what was asked from outside the loop",
  },
  pause: { level: "run", when: "when the run pauses at the end of a step, before it waits" },
  continue: { level: "run", when: "when a pause is over, however it ended" },
  epochBegin: { level: "epoch", when: "before the first step of an epoch" },
  epochEnd: { level: "epoch", when: "after the epoch's evaluation, with its metrics merged" },
  stepBegin: { level: "step", when: "before the data of a step is fetched" },
  stepEnd: { level: "step", when: "after the update" },
  beforeFetch: { level: "batch", when: "before a micro-batch is fetched from its loader" },
  batchBegin: { level: "batch", when: "with the fetched micro-batch, before it goes to the device" },
  batchEnd: { level: "batch", when: "after the micro-batch; for the one that closes a step, after the update" },
  beforeForward: { level: "forward / backward", when: "before the forward pass" },
  afterForward: { level: "forward / backward", when: "with loss and outputs, before the backward pass" },
  beforeBackward: { level: "forward / backward", when: "the last chance to skip or scale the backward pass" },
  afterBackward: { level: "forward / backward", when: "with this micro-batch's gradients" },
  beforeOptimizerStep: { level: "optimizer", when: "with the accumulated gradients, before clipping" },
  gradientClip: { level: "optimizer", when: "after clipping, when it is on" },
  afterOptimizerStep: { level: "optimizer", when: "after the update; the last event that sees the gradients" },
  evalBegin: { level: "eval", when: "before an evaluation" },
  evalBatchBegin: { level: "eval", when: "before an evaluation batch" },
  evalBatchEnd: { level: "eval", when: "after an evaluation batch, with its own loss and metrics" },
  evalEnd: { level: "eval", when: "after an evaluation, with its metrics merged" },
  predictBegin: { level: "predict", when: "before the first batch of `predict`" },
  predictBatchBegin: { level: "predict", when: "before a batch of `predict`" },
  predictBatchEnd: { level: "predict", when: "after a batch of `predict`, with the model's outputs" },
  predictEnd: { level: "predict", when: "after the last batch of `predict`" },
  beforeSave: {
    level: "checkpoint",
    when: 'with what is about to be written, which may be changed; `ctx.skip("save")` cancels the save',
  },
  afterSave: {
    level: "checkpoint",
    when: "at the first boundary after the checkpoint is durable, before `trainEnd` at the latest",
  },
  saveError: { level: "checkpoint", when: "in place of `afterSave`, when a checkpoint could not be written" },
  beforeLoad: { level: "checkpoint", when: "before a checkpoint is loaded, by `resume` or a rollback" },
  afterLoad: { level: "checkpoint", when: "after it was loaded, with what was restored and what was not" },
  log: { level: "log", when: "at a boundary that logs, with the metrics about to go to the loggers" },
} as const satisfies Record<string, EventInfo>;

/** The events of the training loop. */
export type BuiltinEvent = keyof typeof EVENTS;

/**
 * Custom events: name → payload. Add to it by module augmentation, and call `defineEvent` once:
 * `declare module "hookline" { interface CustomEvents { labelDrift: { drift: number } } }`
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- an empty interface is what augmentation needs
export interface CustomEvents {}

/** The events of the loop, and those that `defineEvent` has added. */
export type EventName = BuiltinEvent | (keyof CustomEvents & string);

/** The hook method of an event: `stepEnd` → `onStepEnd`. */
export type MethodOf<E extends string> = `on${Capitalize<E>}`;

export function methodOf<E extends string>(event: E): MethodOf<E> {
  return `on${event[0]!.toUpperCase()}${event.slice(1)}` as MethodOf<E>;
}

export const BUILTIN_EVENTS = Object.keys(EVENTS) as BuiltinEvent[];

const customEvents = new Set<string>();

/** Defines a custom event, so that `onLabelDrift` is accepted and `trainer.emit("labelDrift", …)` reaches it. */
export function defineEvent<E extends keyof CustomEvents & string>(event: E): E {
  const name: string = event;
  if ([EVENTS, OUTER_EVENTS].some((events) => Object.hasOwn(events, name)))
    throw new HookRegistrationError(`\`${name}\` is an event of hookline; give yours another name.`);
  if (!/^[a-z][A-Za-z0-9]*$/.test(name) || name === "error")
    throw new HookRegistrationError(
      `An event's name is in camelCase, so that \`on\` + its name is a method, and not \`error\`, since \`onError\` is a setting; got \`${name}\`.`,
    );
  customEvents.add(name);
  return event;
}

export const isCustomEvent = (event: string): boolean => customEvents.has(event);
/** Every event that a trainer can fire now. */
export const allEvents = (): string[] => [...BUILTIN_EVENTS, ...customEvents];
/** Every event that a hook can have a method for. */
export const hookEvents = (): string[] => [...allEvents(), ...Object.keys(OUTER_EVENTS)];

export function levelOf(event: string): EventLevel {
  if (Object.hasOwn(OUTER_EVENTS, event)) return OUTER_EVENTS[event as OuterEvent].level;
  return Object.hasOwn(EVENTS, event) ? EVENTS[event as BuiltinEvent].level : "custom";
}

/**
 * No cadence holds these back: a hook must see the beginning and the end of what it takes part in, and every checkpoint.
 * In `predict` nothing changes that a cadence counts.
 */
export const alwaysPasses = (event: string): boolean =>
  ["run", "predict", "checkpoint", "pipeline", "tune"].includes(levelOf(event));
