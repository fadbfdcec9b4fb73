// How a command ends: one form of error on stderr, and an exit code that a script can rely on.
import { safeText } from "../../core/safe-text.ts";
import { say } from "./output.ts";
import { HooklineError, HookRegistrationError, OptionError } from "../../core/errors.ts";
import { ConfigError } from "../../experiment/config/config-error.ts";
import { EXIT_CODES } from "../../platform/platform.ts";
import { typed } from "./hints.ts";
import { paint } from "./paint.ts";
import { shortPaths } from "./shown-path.ts";

/** A run that failed; input that cannot be used. Interrupted runs end with 128 + the signal's number. */
export const EXIT = { ok: 0, failed: 1, badInput: 2, ...EXIT_CODES } as const;

/** The command line was used in a way that makes no sense: which, and what to do. */
export class UsageError extends HooklineError {
  override name = "UsageError";
}

/** Wraps what went wrong while something ran, to tell it from input that was bad to begin with. */
class FailedRun extends Error {}

/** Whatever `body` throws is the failure of a run, unless what it was given could not be used. */
export async function running<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw isBadInput(error) ? error : new FailedRun("", { cause: error });
  }
}

const isBadInput = (error: unknown): boolean =>
  [ConfigError, OptionError, HookRegistrationError, UsageError].some((kind) => error instanceof kind);

/** An error of the system's about a file: its message says all there is to say. */
const isAboutFile = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && "path" in error;

/** What went wrong itself. */
const causeOf = (error: unknown): unknown => (error instanceof FailedRun ? error.cause : error);

/** Says what went wrong, and who says so where there are several; returns the code to exit with. */
export function reportError(error: unknown, who = ""): number {
  const cause = causeOf(error);
  const isKnown = cause instanceof HooklineError || isAboutFile(cause);
  const text = isKnown ? shortPaths(cause.message) : withStack(cause);
  say(`${who}${paint(process.stderr, "red", "error:")} ${safeText(text)}`);
  return isKnown && cause === error ? EXIT.badInput : EXIT.failed;
}

function withStack(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${stack}\nhookline does not know this error. If it comes from none of your own files, report it: with these lines and what \`${typed("doctor")}\` prints.`;
}
