// Errors of commands: one form on stderr, and an exit code that a script can rely on.
import { safeText } from "../core/safe-text.ts";
import { paint, say, shortPaths, typed } from "./output.ts";
import { HooklineError, HookRegistrationError, OptionError } from "../core/errors.ts";
import { ConfigError } from "../experiment/config/config-error.ts";
import { EXIT_CODES } from "../platform/platform.ts";
import { existsSync, readdirSync } from "node:fs";
import { codeOf } from "../platform/file-errors.ts";
import { basename, dirname, join } from "node:path";
import { nearest } from "../core/names.ts";

/** A run that failed; input that cannot be used. Interrupted runs end with 128 + the signal's number. */
export const EXIT = { ok: 0, failed: 1, badInput: 2, ...EXIT_CODES } as const;

/** Wrong usage of the command line: what is wrong, and what to do. */
export class UsageError extends HooklineError {
  override name = "UsageError";
}

/** Wraps an error of a run, to tell it from bad input. */
class FailedRun extends Error {}

/** Runs `body`; what it throws counts as the failure of a run, unless it is an error about its input. */
export async function running<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw isBadInput(error) ? error : new FailedRun("", { cause: error });
  }
}

const isBadInput = (error: unknown): boolean =>
  [ConfigError, OptionError, HookRegistrationError, UsageError].some((kind) => error instanceof kind);

/** Codes of system errors that name no file. */
const DISK = ["ENOSPC", "EDQUOT", "EROFS", "EIO"];

/** A system error about a file or the disk: its message is enough. */
const isAboutFile = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && ("path" in error || DISK.includes(String(codeOf(error))));

const causeOf = (error: unknown): unknown => (error instanceof FailedRun ? error.cause : error);

/** Prints an error, with `who` before it; returns the exit code. */
export function reportError(error: unknown, who = ""): number {
  const cause = causeOf(error);
  const isKnown = cause instanceof HooklineError || isAboutFile(cause);
  const text = isKnown ? shortPaths(cause.message) : withStack(cause);
  say(`${who}${paint(process.stderr, "red", "error:")} ${safeText(text)}`);
  return isKnown && cause === error ? EXIT.badInput : EXIT.failed;
}

function withStack(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${stack}\nThis is an unexpected error. If it does not come from your own files, please report it with these lines and the output of \`${typed("doctor")}\`.`;
}

/**
 * The error for a directory that does not exist, with the similar name beside it.
 * @param more what to do, as a sentence
 */
export function noDirectory(dir: string, more = ""): UsageError {
  const near = nearest(basename(dir), neighbours(dirname(dir)));
  const hint = near === undefined ? "" : ` Did you mean \`${join(dirname(dir), near)}\`?`;
  return new UsageError(`There is no directory ${dir}.${hint}${more && ` ${more}`}`);
}

function neighbours(parent: string): string[] {
  try {
    return readdirSync(parent, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/** Rejects a file that exists, unless the user asked to overwrite it. */
export function checkNewFile(path: string, overwrite = false): void {
  if (!overwrite && existsSync(path))
    throw new UsageError(`${path} is there already. Choose another name, or use --overwrite.`);
}

/** The error of `listen` as one for the user; other errors as they are. */
export function listenError(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new UsageError(`Port ${port} of ${host} is in use. Choose another one with --port, or 0 for any.`);
  if (code === "EACCES") return new UsageError(`Port ${port} needs more rights. Choose one from 1024 on with --port.`);
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EINVAL", "EAI_AGAIN"].includes(code ?? ""))
    return new UsageError(`This machine has no address ${host}. Use --host 127.0.0.1 or --host 0.0.0.0.`);
  return error;
}
