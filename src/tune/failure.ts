// What a trial threw, as plain data: it may have been thrown in another process.
import type { TrialFailure } from "../core/tune.types.ts";

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
