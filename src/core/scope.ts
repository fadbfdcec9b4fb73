// The scopes of the loop: epoch, step, batch, evaluation, prediction. Each fires its begin event, runs its body and fires
// its end event.
import type { BuiltinEvent } from "./events.ts";
import type { MaybePromise } from "./model.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "./run.ts";
import type { SkipScope } from "./verbs.ts";

interface Firing {
  readonly run: Run;
  readonly hooks: HookRegistry;
}

export interface Scope {
  readonly begin?: BuiltinEvent;
  readonly end: BuiltinEvent;
  /** Skips that hold as long as the scope does. */
  readonly skips: readonly SkipScope[];
}

export const EPOCH: Scope = { begin: "epochBegin", end: "epochEnd", skips: ["batch", "step", "epoch"] };
/** The rest of an epoch that a resumed run is in the middle of: hooks have seen it begin. */
export const REST_OF_EPOCH: Scope = { ...EPOCH, begin: undefined };
export const STEP: Scope = { begin: "stepBegin", end: "stepEnd", skips: ["batch", "step"] };
export const BATCH: Scope = { begin: "batchBegin", end: "batchEnd", skips: ["batch"] };
export const EVALUATION: Scope = { begin: "evalBegin", end: "evalEnd", skips: [] };
export const PREDICTION: Scope = { begin: "predictBegin", end: "predictEnd", skips: [] };
/** What hooks log while `log` fires belongs to the boundary at hand. */
export const LOG: Scope = { end: "log", skips: [] };

/** Fires an event; in a process group the ranks then exchange what hooks requested in it. */
export function fire({ run, hooks }: Firing, event: BuiltinEvent): MaybePromise<void> {
  const { group } = run;
  const wait = hooks.fire[event]!();
  if (!group) return wait;
  return wait ? wait.then(() => group.exchange(event)) : group.exchange(event);
}

/**
 * Runs a scope. When it fails, its end event does not fire: hooks hear of `exception` instead. `leave` runs however the
 * scope ends, and a skip that holds for this scope is forgotten before and after it.
 */
export async function scope(
  firing: Firing,
  { begin, end, skips }: Scope,
  body: () => MaybePromise<void>,
  leave?: () => void,
): Promise<void> {
  const { requests } = firing.run;
  const forgetSkip = (): void => {
    if (requests.skip !== undefined && skips.includes(requests.skip)) requests.skip = undefined;
  };
  forgetSkip();
  try {
    // Awaits only promises: with a synchronous engine and synchronous hooks nothing inside waits.
    let wait = begin && fire(firing, begin);
    if (wait) await wait;
    wait = body();
    if (wait) await wait;
    wait = fire(firing, end);
    if (wait) await wait;
  } finally {
    forgetSkip();
    leave?.();
  }
}
