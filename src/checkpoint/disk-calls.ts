// What the store and its writing thread say to each other. Errors cross threads as data: their class would be lost.
import { CheckpointError, HooklineError, OptionError } from "../core/errors.ts";
import type { Disk } from "./disk.ts";
import { codeOf } from "./problems.ts";

export type DiskMethod = "save" | "finish" | "abandon" | "list" | "read" | "load" | "verify" | "remove" | "sweep";

export interface Call {
  readonly id: number;
  readonly method: DiskMethod;
  readonly args: readonly unknown[];
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure };

interface Failure {
  readonly kind: "checkpoint" | "option" | "other";
  readonly message: string;
  readonly file: string;
  readonly reason: string;
  readonly cause: string;
  readonly code: string | undefined;
}

export function callDisk(disk: Disk, { method, args }: Pick<Call, "method" | "args">): unknown {
  // The client's types tie a method to its arguments; here they have come through a message.
  return (disk[method] as (...args: unknown[]) => unknown).call(disk, ...args);
}

export function toFailure(error: unknown): Failure {
  const { file = "", reason = "" } = error instanceof CheckpointError ? error : {};
  const cause = error instanceof Error ? error.cause : undefined;
  return {
    kind: error instanceof CheckpointError ? "checkpoint" : error instanceof OptionError ? "option" : "other",
    message: error instanceof Error ? error.message : String(error),
    file,
    reason,
    cause: cause instanceof Error ? cause.message : "",
    code: codeOf(cause),
  };
}

export function fromFailure({ kind, message, file, reason, cause, code }: Failure): Error {
  if (kind === "option") return new OptionError(message);
  if (kind === "other") return new HooklineError(message);
  const options = code === undefined ? undefined : { cause: Object.assign(new Error(cause), { code }) };
  return new CheckpointError(file, reason, message.slice(`${file}: ${reason}. `.length), options);
}
