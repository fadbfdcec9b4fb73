// What can end a run from outside: a signal to the process, an error that nothing caught, or the caller's AbortSignal.
import type { Interruption } from "../core/loop/session.ts";
import { EXIT_CODES, type Platform } from "../platform/platform.ts";

export class Interruptions {
  readonly #platform: Platform;
  readonly #abort: AbortSignal | undefined;
  readonly #undo: readonly (() => void)[] = [];
  /** By a signal or an uncaught error. */
  #bySignal: Interruption | undefined;
  #wake: (() => void) | undefined;
  #tell: (() => void) | undefined;

  /** Listens to signals and uncaught errors unless `grace` is undefined: milliseconds until a process that does not end is ended. */
  constructor(platform: Platform, abort: AbortSignal | undefined, grace: number | undefined) {
    this.#platform = platform;
    this.#abort = abort;
    if (grace === undefined) return;
    const interrupt = (reason: string, requestedBy: string): void => {
      this.#bySignal ??= { reason, requestedBy };
      this.#wake?.();
      this.#tell?.();
    };
    this.#undo = [
      platform.onSignals((name) => interrupt(name, name), grace),
      platform.onUncaught(
        (error) =>
          interrupt(
            `uncaught ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`,
            "uncaughtException",
          ),
        grace,
      ),
    ];
  }

  /** Why the run must end now. */
  readonly now = (): Interruption | undefined =>
    this.#bySignal ?? (this.#abort?.aborted ? aborted(this.#abort) : undefined);

  /** Calls `tell` when the run must end, or now if it must already. */
  listen(tell: (interruption: Interruption) => void): void {
    this.#tell = () => tell(this.now()!);
    this.#abort?.addEventListener("abort", this.#tell, { once: true });
    if (this.now()) this.#tell();
  }

  /** What `work` comes to; undefined when an interruption comes first, and then nobody hears of it any more. */
  async orSooner<T>(work: Promise<T>): Promise<T | undefined> {
    const interrupted = new Promise<undefined>((resolve) => {
      this.#wake = () => resolve(undefined);
    });
    const wake = this.#wake!;
    this.#abort?.addEventListener("abort", wake);
    if (this.now()) wake();
    try {
      return await Promise.race([work, interrupted]);
    } finally {
      this.#abort?.removeEventListener("abort", wake);
      this.#wake = undefined;
    }
  }

  stopListening(): void {
    for (const undo of this.#undo) undo();
    if (this.#tell) this.#abort?.removeEventListener("abort", this.#tell);
  }

  /** A signal that came too late to cut the run short, or to another process of it, still decides how this one ends. */
  setExitCode(elsewhere: Interruption | undefined): void {
    const code = EXIT_CODES[(this.#bySignal ?? elsewhere)?.requestedBy ?? ""];
    if (code !== undefined) this.#platform.setExitCode(code);
  }
}

function aborted({ reason }: AbortSignal): Interruption {
  const plain = reason instanceof Error && reason.name === "AbortError";
  return { reason: plain ? "aborted" : `aborted: ${String(reason)}`, requestedBy: "AbortSignal" };
}
