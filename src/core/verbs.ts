// Which verb is valid in which event: the one table behind the context's types, its run-time checks and the docs.
import type { BuiltinEvent } from "./events.ts";

const BEFORE_FORWARD = ["batchBegin", "beforeForward"] as const;
const BEFORE_BACKWARD = [...BEFORE_FORWARD, "afterForward", "beforeBackward"] as const;
const IN_BATCH = [...BEFORE_BACKWARD, "afterBackward"] as const;
const BEFORE_UPDATE = ["stepBegin", "beforeFetch", ...IN_BATCH, "beforeOptimizerStep", "gradientClip"] as const;
const IN_STEP = [...BEFORE_UPDATE, "afterOptimizerStep", "batchEnd", "stepEnd"] as const;
const IN_EPOCH = ["epochBegin", ...IN_STEP] as const;
const IN_EVAL = ["evalBegin", "evalBatchBegin", "evalBatchEnd", "evalEnd"] as const;
const IN_RUN = ["init", "trainBegin", ...IN_EPOCH, ...IN_EVAL, "log", "epochEnd"] as const;
const SAVE_ENDED = ["afterSave", "saveError"] as const;

/** A row: what the verb does, and the events in which it may be called. Own events allow what `stepEnd` allows. */
interface VerbInfo {
  readonly does: string;
  readonly events: readonly BuiltinEvent[];
}

export const VERBS = {
  stop: { does: "ends the run at the next boundary", events: [...IN_RUN, ...SAVE_ENDED] },
  skip: {
    does: "skips the batch, the step or the rest of the epoch; in `beforeSave`, the save",
    events: [...IN_EPOCH, "beforeSave"],
  },
  replaceBatch: {
    does: "uses another batch instead",
    events: [...BEFORE_FORWARD, "evalBatchBegin", "predictBatchBegin"],
  },
  scaleLoss: { does: "multiplies this micro-batch's gradient", events: BEFORE_BACKWARD },
  setLoss: { does: "another loss function from the next forward pass on", events: IN_RUN },
  setLr: { does: "another learning rate, kept as a factor on the schedule", events: IN_RUN },
  setUpdate: { does: "own optimizer step from the next update on", events: IN_RUN },
  setTrainable: {
    does: "which parameters are trained from the next step on; in `stepBegin`, from this one",
    events: IN_RUN,
  },
  setAccumulate: {
    does: "how many micro-batches make a step from the next one on; in `stepBegin`, from this one",
    events: IN_RUN,
  },
  setParams: {
    does: "puts other parameters in place for good, such as the best or averaged ones",
    events: ["trainBegin", "stepEnd", "evalEnd", "log", "epochEnd", "trainEnd"],
  },
  swapParams: { does: "other parameters for this evaluation or prediction", events: ["evalBegin", "predictBegin"] },
  requestEval: { does: "an evaluation at the next boundary", events: IN_RUN },
  requestSave: {
    does: "a checkpoint at the next boundary, or at the end of the run",
    events: [...IN_RUN, ...SAVE_ENDED],
  },
  rollback: {
    does: "goes back to a checkpoint at the next boundary: parameters, optimizer and model state; the run goes on",
    events: ["batchEnd", "stepEnd", ...IN_EVAL, "log", "epochEnd"],
  },
} as const satisfies Record<string, VerbInfo>;

export type VerbName = keyof typeof VERBS;

/** Scopes of `ctx.skip`, each with the events in which it can still be skipped. */
export const SKIP_SCOPES = {
  batch: IN_BATCH,
  step: BEFORE_UPDATE,
  epoch: IN_EPOCH,
  save: ["beforeSave"],
} as const satisfies Record<string, readonly BuiltinEvent[]>;

export type SkipScope = keyof typeof SKIP_SCOPES;

/** The verbs of one event, for its context type. */
export type VerbsOf<E extends BuiltinEvent> = {
  [V in VerbName]: E extends (typeof VERBS)[V]["events"][number] ? V : never;
}[VerbName];

/** The scopes that can be skipped in one event. */
export type SkipScopesOf<E extends BuiltinEvent> = {
  [S in SkipScope]: E extends (typeof SKIP_SCOPES)[S][number] ? S : never;
}[SkipScope];
