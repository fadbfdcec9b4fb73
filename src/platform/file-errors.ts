// Turns errors of the file system into CheckpointErrors, which say the file, the reason and what to do.
import { CheckpointError } from "../core/errors.ts";
import { codeOf } from "./error-code.ts";

const WAYS_OUT: Readonly<Record<string, readonly [reason: string, wayOut: string]>> = {
  ENOSPC: ["the disk is full", "Free some space, or keep fewer checkpoints (`saveTotalLimit`)."],
  EDQUOT: ["the disk quota is used up", "Free some space, or keep fewer checkpoints (`saveTotalLimit`)."],
  QuotaExceededError: ["the browser's storage quota is used up", "Keep fewer checkpoints (`saveTotalLimit`)."],
  EIO: ["the disk reports an input/output error", "Check the disk, or save to another one."],
  EROFS: ["the file system is read-only", "Choose a directory that can be written."],
  EACCES: ["permission denied", "Choose a directory that this user can write."],
  EPERM: ["the operation is not permitted", "Choose a directory that this user can write."],
  EMFILE: ["too many files are open", "Raise the limit (`ulimit -n`), or look for what leaks files."],
  ENOTDIR: ["a file stands where a directory should be", "Move it away, or choose another directory."],
  ENOENT: ["it does not exist", "Check the path."],
  NotFoundError: ["it does not exist", "Check the path."],
};

export function problem(file: string, error: unknown): CheckpointError {
  if (error instanceof CheckpointError) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const [reason, wayOut] = WAYS_OUT[code ?? ""] ?? [
    message.replace(/\.$/, ""),
    "The checkpoints before it are intact.",
  ];
  return new CheckpointError(file, code && WAYS_OUT[code] ? `${reason} (${code})` : reason, wayOut, { cause: error });
}

/** Runs `body`; what the system throws becomes a CheckpointError about `file`. */
export function guarded<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw problem(file, error);
  }
}

/** Runs clean-up after an error. Its own errors are dropped: the first one is the one to report. */
export function quietly(body: () => unknown): void {
  try {
    body();
  } catch {
    // The next sweep removes what is left.
  }
}

export function damaged(file: string, reason: string): CheckpointError {
  return new CheckpointError(file, reason, "Use an older checkpoint, or restore the file from a copy.");
}
