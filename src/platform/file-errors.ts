// System errors about files, as errors of hookline: which file, why, and what to do about it.
import { CheckpointError, HooklineError } from "../core/errors.ts";

/** The code of a Node error, or the name of a DOMException. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : error.name;
}

/** By Node's error code, or by the name of a browser's DOMException. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  QuotaExceededError: "the browser's storage quota is used up",
  EIO: "the disk reports an input/output error",
  EROFS: "the file system is read-only",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  EMFILE: "too many files are open",
  EISDIR: "a directory stands where the file should be",
  ENOTDIR: "a file stands where a directory should be",
  EEXIST: "a file stands where a directory should be",
  ELOOP: "it is a symbolic link",
  ENOENT: "it does not exist",
  NotFoundError: "it does not exist",
};

const ADVICE: Readonly<Record<string, string>> = {
  EMFILE: "Raise the limit (`ulimit -n`), or look for what leaks files.",
  ENOENT: "Check the path.",
  NotFoundError: "Check the path.",
};

const CHECKPOINT_ADVICE: Readonly<Record<string, string>> = {
  ...ADVICE,
  ENOSPC: "Free some space, or keep fewer checkpoints (`saveTotalLimit`).",
  EDQUOT: "Free some space, or keep fewer checkpoints (`saveTotalLimit`).",
  QuotaExceededError: "Keep fewer checkpoints (`saveTotalLimit`).",
  EIO: "Check the disk, or save to another one.",
  EROFS: "Choose a directory that can be written.",
  EACCES: "Choose a directory that this user can write.",
  EPERM: "Choose a directory that this user can write.",
  ENOTDIR: "Move it away, or choose another directory.",
};

const LOG_ADVICE: Readonly<Record<string, string>> = {
  ...ADVICE,
  ENOSPC: "Free some space: unwritten records are kept and retried.",
  EDQUOT: "Free some space: unwritten records are kept and retried.",
  EIO: "Check the disk, or log to another one.",
  EROFS: "Choose a run directory that can be written.",
  EACCES: "Choose a run directory that this user can write.",
  EPERM: "Choose a run directory that this user can write.",
  EISDIR: "Move it away, or choose another run directory.",
  ENOTDIR: "Move it away, or choose another run directory.",
  EEXIST: "Move it away, or choose another run directory.",
  ELOOP: "A link may lead anywhere: replace it by a file, or link the whole run directory.",
};

/** A known reason with its advice; otherwise only the system's own message. */
function explain(error: unknown, adviceByCode: Readonly<Record<string, string>>): { reason: string; advice?: string } {
  const code = codeOf(error) ?? "";
  const advice = adviceByCode[code];
  if (advice !== undefined) return { reason: `${REASONS[code]} (${code})`, advice };
  const message = error instanceof Error ? error.message : String(error);
  return { reason: message.replace(/\.$/, "") };
}

export function problem(file: string, error: unknown): CheckpointError {
  if (error instanceof CheckpointError) return error;
  const { reason, advice = "The checkpoints before it are intact." } = explain(error, CHECKPOINT_ADVICE);
  return new CheckpointError(file, reason, advice, { cause: error });
}

export function logProblem(file: string, error: unknown): HooklineError {
  if (error instanceof HooklineError) return error;
  const { reason, advice } = explain(error, LOG_ADVICE);
  return new HooklineError(`${file}: ${advice === undefined ? `${reason}.` : `${reason}. ${advice}`}`, {
    cause: error,
  });
}

/** Runs `body`; a system error becomes a CheckpointError about `file`. */
export function guarded<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw problem(file, error);
  }
}

/** Runs `body`; a system error becomes an error about a log file. */
export function guardedLog<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw logProblem(file, error);
  }
}

/** For cleaning up while another error is being reported. */
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
