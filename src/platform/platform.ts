// The only place where Node and browsers differ. Nothing is imported: what Node has is found at run time.

export interface Platform {
  readonly name: "node" | "browser";
  warn(message: string): void;
  /** Lets timers, signals and I/O run: a macrotask, since a promise alone would not. */
  yieldToEvents(): Promise<void>;
  /** Calls `first` on SIGINT or SIGTERM; a second signal ends the process at once. Returns the undo. */
  onSignals(first: (signal: string) => void): () => void;
  /** The code with which the process will end, unless something else sets it. */
  setExitCode(code: number): void;
}

/** Exit codes by convention: 128 + the signal's number. */
export const EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * One Ctrl-C under `npm run` arrives several times: the terminal sends it to every process, and npm and tsx pass on
 * theirs. What comes this soon after the first is its echo, not a second wish.
 */
const ECHO_MS = 500;

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  exitCode?: number | string | null | undefined;
  on(signal: string, handler: () => void): void;
  off(signal: string, handler: () => void): void;
  exit(code: number): never;
}

function nodePlatform(process: NodeProcess): Platform {
  return {
    name: "node",
    warn: (message) => console.warn(`hookline: ${message}`),
    yieldToEvents: () => new Promise((resolve) => void setImmediate(resolve)),
    onSignals(first) {
      let firstAt: number | undefined;
      let over = false;
      const handlers = Object.entries(EXIT_CODES).map(([signal, code]) => {
        const handler = (): void => {
          const now = performance.now();
          if (firstAt !== undefined) {
            if (!over && now - firstAt > ECHO_MS) process.exit(code);
            return;
          }
          firstAt = now;
          first(signal);
        };
        process.on(signal, handler);
        return () => process.off(signal, handler);
      });
      return () => {
        over = true;
        const undoAll = (): void => handlers.forEach((undo) => undo());
        const echoLeft = firstAt === undefined ? 0 : firstAt + ECHO_MS - performance.now();
        // An echo that comes when the run has just ended must not kill the program that reports it.
        if (echoLeft > 0) setTimeout(undoAll, echoLeft).unref();
        else undoAll();
      };
    },
    setExitCode(code) {
      process.exitCode = code;
    },
  };
}

function browserPlatform(): Platform {
  return {
    name: "browser",
    warn: (message) => console.warn(`hookline: ${message}`),
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
    setExitCode: () => undefined,
  };
}

export function currentPlatform(): Platform {
  const { process } = globalThis as { process?: NodeProcess };
  return process?.versions?.node ? nodePlatform(process) : browserPlatform();
}
