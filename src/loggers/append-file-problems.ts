// What the file system says about a log file, as an error of ours: which file, why, and the way out.
import { HooklineError } from "../core/errors.ts";
import { codeOf } from "../platform/error-code.ts";

const WAYS_OUT: Readonly<Record<string, readonly [reason: string, wayOut: string]>> = {
  ENOSPC: ["the disk is full", "Free some space: what is not written yet is kept and tried again."],
  EDQUOT: ["the disk quota is used up", "Free some space: what is not written yet is kept and tried again."],
  EIO: ["the disk reports an input/output error", "Check the disk, or log to another one."],
  EROFS: ["the file system is read-only", "Choose a run directory that can be written."],
  EACCES: ["permission denied", "Choose a run directory that this user can write."],
  EPERM: ["the operation is not permitted", "Choose a run directory that this user can write."],
  EISDIR: ["a directory stands where the file should be", "Move it away, or choose another run directory."],
  ENOTDIR: ["a file stands where a directory should be", "Move it away, or choose another run directory."],
  EEXIST: ["a file stands where a directory should be", "Move it away, or choose another run directory."],
  ELOOP: ["it is a symbolic link", "A link may lead anywhere: replace it by a file, or link the whole run directory."],
  EMFILE: ["too many files are open", "Raise the limit (`ulimit -n`), or look for what leaks files."],
  ENOENT: ["it does not exist", "Check the path."],
};

export function logProblem(file: string, error: unknown): HooklineError {
  if (error instanceof HooklineError) return error;
  const code = codeOf(error);
  const known = WAYS_OUT[code ?? ""];
  const message = error instanceof Error ? error.message : String(error);
  const text = known ? `${known[0]} (${code}). ${known[1]}` : `${message.replace(/\.$/, "")}.`;
  return new HooklineError(`${file}: ${text}`, { cause: error });
}

/** Runs `body`; whatever the system throws becomes an error about `file`. */
export function guarded<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw logProblem(file, error);
  }
}
