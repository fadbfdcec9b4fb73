// Errors of studies and trials, and a trial's error as plain data, which passes between processes.
import { HooklineError } from "../core/errors.ts";
import type { TrialFailure } from "../core/outer-events.ts";

/** A study that cannot begin or continue: its directory holds another study, or its trials all fail alike. */
export class StudyError extends HooklineError {
  override name = "StudyError";
}

/** An attempt that ended through no fault of the trial: its machine or the connection to it is lost. It is retried. */
export class TrialLost extends HooklineError {
  override name = "TrialLost";
}

/** Why a trial must end: it is not worth continuing, it waits, it continues from another trial, or the study ends. */
export type LeaveKind = "prune" | "pause" | "exploit" | "interrupt";

/** Thrown by `trial.report` when the trial must end here. Do not catch it: the study handles it. */
export class TrialPruned extends HooklineError {
  override name = "TrialPruned";
  readonly kind: LeaveKind;

  constructor(kind: LeaveKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

export function errorOf(thrown: unknown): TrialFailure {
  if (!(thrown instanceof Error)) return { name: "Error", message: `threw ${String(thrown)}` };
  const { name, message, stack } = thrown;
  return { name, message, ...(stack !== undefined && { stack }) };
}

export function toError({ name, message, stack }: TrialFailure): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
