// Errors cross threads as data: their class would be lost.
import { CheckpointError, HooklineError, LockLostError, OptionError } from "../core/errors.ts";
import { codeOf } from "./error-code.ts";

export interface ThreadFailure {
  readonly kind: "lockLost" | "checkpoint" | "option" | "other";
  readonly message: string;
  readonly file: string;
  readonly reason: string;
  readonly cause: string;
  readonly code: string | undefined;
}

export function toFailure(error: unknown): ThreadFailure {
  const { file = "", reason = "" } = error instanceof CheckpointError ? error : {};
  const cause = error instanceof Error ? error.cause : undefined;
  return {
    kind: kindOf(error),
    message: error instanceof Error ? error.message : String(error),
    file,
    reason,
    cause: cause instanceof Error ? cause.message : "",
    code: codeOf(cause),
  };
}

function kindOf(error: unknown): ThreadFailure["kind"] {
  if (error instanceof LockLostError) return "lockLost";
  if (error instanceof CheckpointError) return "checkpoint";
  return error instanceof OptionError ? "option" : "other";
}

export function fromFailure({ kind, message, file, reason, cause, code }: ThreadFailure): Error {
  if (kind === "option") return new OptionError(message);
  if (kind === "other") return new HooklineError(message);
  if (kind === "lockLost") return new LockLostError(file, reason);
  const options = code === undefined ? undefined : { cause: Object.assign(new Error(cause), { code }) };
  return new CheckpointError(file, reason, message.slice(`${file}: ${reason}. `.length), options);
}
