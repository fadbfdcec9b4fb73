// The only place where Node and browsers differ. Nothing is imported: what Node has is found at run time.
import { printWarning } from "./print.ts";
import { onUncaught, rethrowUncaught } from "./uncaught.ts";

export interface Platform {
  readonly name: "node" | "browser";
  warn(message: string): void;
  /** Lets timers, signals and I/O run: a macrotask, since a promise alone would not. */
  yieldToEvents(): Promise<void>;
  /**
   * Calls `first` on SIGINT, SIGTERM, SIGHUP (the terminal is gone) or SIGUSR1 (a scheduler's warning). A second signal
   * ends the process at once, and so does the first when `grace` milliseconds pass before the undo, which is returned.
   */
  onSignals(first: (signal: string) => void, grace: number): () => void;
  /** Calls `first` on an error that nothing catches; see uncaught.ts. Returns the undo. */
  onUncaught(first: (error: unknown) => void, grace: number): () => void;
  /** Ends the process with such an error, once no run is left that listens for it. */
  rethrowUncaught(): Promise<void>;
  /** The code with which the process will end, unless something else sets it. */
  setExitCode(code: number): void;
}

/** Exit codes by convention: 128 + the signal's number. */
export const EXIT_CODES: Readonly<Record<string, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGUSR1: 138,
  SIGTERM: 143,
};

/**
 * One Ctrl-C under `npm run` arrives several times: the terminal sends it to every process, and npm and tsx pass on
 * theirs. What comes this soon after the first is its echo, not a second wish.
 */
const ECHO_MS = 500;

/** Timers count no further, and take more for nothing at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  exitCode?: number | string | null | undefined;
  on(event: string, handler: (error: unknown) => void): void;
  off(event: string, handler: (error: unknown) => void): void;
  listeners(event: string): readonly unknown[];
  exit(code: number): never;
}

function nodePlatform(process: NodeProcess): Platform {
  return {
    name: "node",
    warn: printWarning,
    yieldToEvents: () => new Promise((resolve) => void setImmediate(resolve)),
    onSignals(first, grace) {
      let firstAt: number | undefined;
      let over = false;
      let watchdog: ReturnType<typeof setTimeout> | undefined;
      /** A disk or a hook that hangs must not keep a process that was told to go. */
      const watch = (signal: string, code: number): void => {
        const giveUp = (): never => {
          this.warn(`the run has not ended ${grace} ms after ${signal} (\`signalGrace\`): the process exits`);
          return process.exit(code);
        };
        watchdog = setTimeout(giveUp, Math.min(grace, LONGEST_TIMER_MS));
        watchdog.unref();
        // Where nothing is left that could wake the run, Node ends the process before that.
        process.exitCode = code;
      };
      const handlers = Object.entries(EXIT_CODES).map(([signal, code]) => {
        const handler = (): void => {
          const now = performance.now();
          if (firstAt !== undefined) {
            if (!over && now - firstAt > ECHO_MS) process.exit(code);
            return;
          }
          firstAt = now;
          watch(signal, code);
          first(signal);
        };
        process.on(signal, handler);
        return () => process.off(signal, handler);
      });
      return () => {
        over = true;
        clearTimeout(watchdog);
        const undoAll = (): void => handlers.forEach((undo) => undo());
        const echoLeft = firstAt === undefined ? 0 : firstAt + ECHO_MS - performance.now();
        // An echo that comes when the run has just ended must not kill the program that reports it.
        if (echoLeft > 0) setTimeout(undoAll, echoLeft).unref();
        else undoAll();
      };
    },
    onUncaught: (first, grace) => onUncaught(process, first, Math.min(grace, LONGEST_TIMER_MS)),
    rethrowUncaught,
    setExitCode(code) {
      process.exitCode = code;
    },
  };
}

function browserPlatform(): Platform {
  return {
    name: "browser",
    warn: printWarning,
    // A message, not a timer: browsers hold nested timers back to 4 ms.
    yieldToEvents: () =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.addEventListener("message", () => {
          port1.close();
          resolve();
        });
        port1.start();
        port2.postMessage(null);
      }),
    onSignals: () => () => undefined,
    onUncaught: () => () => undefined,
    rethrowUncaught: async () => undefined,
    setExitCode: () => undefined,
  };
}

export function currentPlatform(): Platform {
  const { process } = globalThis as { process?: NodeProcess };
  return process?.versions?.node ? nodePlatform(process) : browserPlatform();
}

/**
 * In a synchronous run, signals, timers and I/O would starve. The function lets them run when it is called, if it last
 * did so at least `everyMs` milliseconds ago.
 */
export function breather(platform: Platform, everyMs: number): () => void | Promise<void> {
  let last = 0;
  return () => {
    const now = performance.now();
    if (now - last < everyMs) return undefined;
    last = now;
    return platform.yieldToEvents();
  };
}
