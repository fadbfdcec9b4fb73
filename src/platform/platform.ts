// The only place where Node and browsers differ. Nothing is imported: what Node has is found at run time.
import { builtinOrNone } from "./builtin.ts";
import { printWarning } from "./print.ts";

export interface Platform {
  readonly name: "node" | "browser";
  warn(message: string): void;
  /** Lets timers, signals and I/O run: a macrotask, since a promise alone would not. */
  yieldToEvents(): Promise<void>;
  /**
   * Calls `first` on SIGINT, SIGTERM, SIGHUP (the terminal is gone) or SIGUSR1 (a scheduler's warning). A second signal
   * ends the process at once, and so does the first if the returned undo is not called within `grace` milliseconds.
   */
  onSignals(first: (signal: string) => void, grace: number): () => void;
  /** Calls `first` on an uncaught error, before it ends the process. Returns a function that undoes it. */
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
 * One Ctrl-C under `npm run` arrives several times: the terminal sends it to every process, and npm and tsx forward
 * theirs. A signal this soon after the first is an echo of it.
 */
const ECHO_MS = 500;

/** The longest delay of a timer: a longer one would fire at once. */
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
      leaveGoneTerminals(process);
      let firstAt: number | undefined;
      let over = false;
      let watchdog: ReturnType<typeof setTimeout> | undefined;
      /** A hanging disk or hook must not keep a stopping process alive. */
      const watch = (signal: string, code: number): void => {
        const giveUp = (): never => {
          this.warn(`the run has not ended ${grace} ms after ${signal} (\`signalGrace\`): the process exits`);
          return process.exit(code);
        };
        watchdog = setTimeout(giveUp, Math.min(grace, LONGEST_TIMER_MS));
        watchdog.unref();
        // If nothing is left that could wake the run, Node ends the process before that.
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
        // An echo just after the run has ended must not kill the program that reports the result.
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

let isLeaving = false;

/**
 * At its end Node resets the terminals that it was started on, and aborts (exit code 134) where one is gone, as after the
 * SIGHUP of a closed terminal. It leaves closed ones alone.
 */
function leaveGoneTerminals(process: NodeProcess): void {
  const [fs, tty] = [builtinOrNone("node:fs"), builtinOrNone("node:tty")];
  if (isLeaving || !fs || !tty) return;
  isLeaving = true;
  const terminals = [0, 1, 2].filter((fd) => tty.isatty(fd));
  if (terminals.length === 0) return;
  process.on("exit", () => terminals.filter((fd) => !tty.isatty(fd)).forEach((fd) => fs.closeSync(fd)));
}

function browserPlatform(): Platform {
  return {
    name: "browser",
    warn: printWarning,
    // A message, not a timer: browsers delay nested timers by 4 ms.
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

const EVENT = "uncaughtException";

type Handler = (error: unknown) => void;

/** The handlers of all runs in this process: an experiment and its training have one each. They stay after a failure. */
const ours = new Set<unknown>();
/** How many runs have not ended yet. */
let running = 0;
let failure: { readonly error: unknown; stopListening(): void } | undefined;

/**
 * Calls `first` on an uncaught error, unless the program has its own handler, which then decides. The run gets one
 * attempt of at most `grace` milliseconds to save; then the error is thrown again, and Node ends the process as usual.
 * Returns a function that undoes it.
 */
function onUncaught(process: NodeProcess, first: Handler, grace: number): () => void {
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const handler: Handler = (error) => {
    if (process.listeners(EVENT).some((each) => !ours.has(each))) return;
    // A second error would not have happened without this attempt.
    if (watchdog !== undefined) return;
    failure ??= { error, stopListening: () => stopListening(process) };
    // If nothing is left that could wake the run, Node ends the process before that.
    process.exitCode = 1;
    watchdog = setTimeout(() => {
      stopListening(process);
      throw error;
    }, grace);
    watchdog.unref();
    first(error);
  };
  ours.add(handler);
  running++;
  process.on(EVENT, handler);
  return () => {
    clearTimeout(watchdog);
    running--;
    // An error while files are being closed must not end the process before they are.
    if (failure) return;
    process.off(EVENT, handler);
    ours.delete(handler);
  };
}

function stopListening(process: NodeProcess): void {
  for (const each of ours) process.off(EVENT, each as Handler);
  ours.clear();
}

/** Throws the uncaught error when all runs have ended. Nothing of the program runs after it. */
async function rethrowUncaught(): Promise<void> {
  if (!failure || running > 0) return;
  const { error } = failure;
  failure.stopListening();
  failure = undefined;
  await new Promise((_, reject) => {
    setImmediate(() => {
      // If a handler keeps the process alive, the caller gets the error.
      setImmediate(() => reject(error as Error));
      throw error;
    });
  });
}

/** The version of hookline. A constant, since browsers cannot read package.json; a test compares the two. */
export const VERSION = "0.1.0";
