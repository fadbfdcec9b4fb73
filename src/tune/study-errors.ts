// What can go wrong with a study, and how a trial hears that it must end.
import { HooklineError } from "../core/errors.ts";
import type { TrialFailure } from "../core/outer-events.ts";

/** A study that cannot begin or go on: another one lies in its directory, or its trials all fail alike. */
export class StudyError extends HooklineError {
  override name = "StudyError";
}

/** An attempt that ended through no fault of the trial's: its machine or the way to it is gone. It is tried again. */
export class TrialLost extends HooklineError {
  override name = "TrialLost";
}

/** Why a trial is to leave: it is not worth going on, it waits, it goes on from another one, or the study ends. */
export type LeaveKind = "prune" | "pause" | "exploit" | "interrupt";

/** Thrown by `trial.report` when the trial is to end here. Let it pass: the study knows what to make of it. */
export class TrialPruned extends HooklineError {
  override name = "TrialPruned";
  readonly kind: LeaveKind;

  constructor(kind: LeaveKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

// What a trial threw, as plain data: it may have been thrown in another process.

export function errorOf(thrown: unknown): TrialFailure {
  if (!(thrown instanceof Error)) return { name: "Error", message: `threw ${String(thrown)}` };
  const { name, message, stack } = thrown;
  return { name, message, ...(stack !== undefined && { stack }) };
}

/** The same as an error again. */
export function toError({ name, message, stack }: TrialFailure): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
