// Every error a user can meet is one of these. A message says what happened, which of the user's things did it, and what to do.
import { safeText } from "./safe-text.ts";

/** Base class: `catch (e) { if (e instanceof HooklineError) … }` catches all of ours and nothing else. */
export class HooklineError extends Error {
  override name = "HooklineError";

  /** Node prints uncaught errors as they are, and messages quote names of the user's and of files. */
  constructor(message: string, options?: ErrorOptions) {
    super(safeText(message), options);
  }
}

/** A wrong, unknown or missing option. Thrown at construction, before anything runs. */
export class OptionError extends HooklineError {
  override name = "OptionError";
  readonly #option: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly option?: string } = {}) {
    super(message, options);
    this.#option = options.option;
  }

  /** The key that is wrong, where it is one: a config shows the line that it is in. */
  get option(): string | undefined {
    return this.#option;
  }
}

/** A hook that cannot be registered: duplicate name, misspelled method, order cycle, unknown `before`/`after`. */
export class HookRegistrationError extends HooklineError {
  override name = "HookRegistrationError";
}

/** A verb or field of the context used where the event does not allow it. */
export class ContextError extends HooklineError {
  override name = "ContextError";
}

/** Data that cannot be trained on: empty loader, wrong shape, wrong type. */
export class DataError extends HooklineError {
  override name = "DataError";
}

/** The model, loss or optimizer failed while it was traced, compiled or run. */
export class ProgramError extends HooklineError {
  override name = "ProgramError";
}

/** An engine or an optional package that is not available. */
export class EngineError extends HooklineError {
  override name = "EngineError";
}

/** The process group cannot continue: a rank is gone, hangs or differs from the others. */
export class DistributedError extends HooklineError {
  override name = "DistributedError";
  /** Every rank has found the same, and throws it. */
  readonly onAllRanks: boolean;

  constructor(message: string, options?: ErrorOptions & { readonly onAllRanks?: boolean }) {
    super(message, options);
    this.onAllRanks = options?.onAllRanks ?? false;
  }
}

/** A checkpoint or one of its files that cannot be read or written: which file, why, and the way out. */
export class CheckpointError extends HooklineError {
  override name = "CheckpointError";
  readonly file: string;
  readonly reason: string;

  readonly #wayOut: string;

  constructor(file: string, reason: string, wayOut: string, options?: ErrorOptions) {
    super(`${file}: ${reason}. ${wayOut}`, options);
    this.file = file;
    this.reason = reason;
    this.#wayOut = wayOut;
  }

  /** The same error with `shown` in place of `path`: for a temporary file that stands for one the user knows. */
  inPlaceOf(path: string, shown: string): CheckpointError {
    const { file, reason, cause } = this;
    if (!file.startsWith(path)) return this;
    return new CheckpointError(shown + file.slice(path.length), reason, this.#wayOut, { cause });
  }
}

/** This process has lost the lock of a directory: another one may write there, so this one must not. */
export class LockLostError extends CheckpointError {
  override name = "LockLostError";

  constructor(file: string, reason: string) {
    super(
      file,
      reason,
      "This process writes nothing more there. Resume the run when no other process uses the directory.",
    );
  }
}

/** Whether an error, or one that caused it, says that the lock of a directory is lost. */
export function isLockLost(error: unknown): boolean {
  return error instanceof LockLostError || (error instanceof Error && isLockLost(error.cause));
}

/** A hook threw: which one, in which event, at which step. The original error is `cause`. */
export class HookError extends HooklineError {
  override name = "HookError";
  readonly hook: string;
  readonly event: string;
  readonly step: number;

  /** Without a step for events outside the loop. */
  constructor(hook: string, event: string, step: number | undefined, cause: unknown) {
    const what = cause instanceof Error ? `${cause.name}: ${cause.message}` : `threw ${describe(cause)}`;
    super(`Hook \`${hook}\` failed in \`${event}\`${step === undefined ? "" : ` at step ${step}`}: ${what}`, { cause });
    this.hook = hook;
    this.event = event;
    this.step = step ?? 0;
  }
}

/** For a thrown value that is not an Error. */
function describe(thrown: unknown): string {
  if (typeof thrown === "string") return `"${thrown}"`;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

/** Attaches later errors to the first one, as `hookErrors`. */
export function attach(error: unknown, more: readonly Error[]): void {
  if (more.length === 0 || !(error instanceof Error)) return;
  const known = (error as { hookErrors?: readonly Error[] }).hookErrors ?? [];
  Object.defineProperty(error, "hookErrors", { value: [...known, ...more], configurable: true });
}
