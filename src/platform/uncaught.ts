// An uncaught error ends a process, and with it the run that is under way. The run gets one bounded attempt to save what it
// has; then the error is thrown again, and Node ends the process as it would have done at once.

const EVENT = "uncaughtException";

type Handler = (error: unknown) => void;

interface NodeProcess {
  exitCode?: number | string | null | undefined;
  on(event: string, handler: Handler): unknown;
  off(event: string, handler: Handler): unknown;
  listeners(event: string): readonly unknown[];
}

/** Handlers of all runs of this process: an experiment and its training have one each. After a failure they stay. */
const ours = new Set<unknown>();
/** How many runs have not ended yet. */
let running = 0;
let failure: { readonly error: unknown; stopListening(): void } | undefined;

/**
 * Calls `first` on an uncaught error, unless the program has a handler of its own, which then decides. When `grace`
 * milliseconds pass before the undo, which is returned, the process ends.
 */
export function onUncaught(process: NodeProcess, first: Handler, grace: number): () => void {
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const handler: Handler = (error) => {
    if (process.listeners(EVENT).some((each) => !ours.has(each))) return;
    // Without this attempt the process would be gone by the time of a second error.
    if (watchdog !== undefined) return;
    failure ??= { error, stopListening: () => stopListening(process) };
    // Where nothing is left that could wake the run, Node ends the process before that.
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
    // What fails while files are being closed must not end the process before that is done.
    if (failure) return;
    process.off(EVENT, handler);
    ours.delete(handler);
  };
}

function stopListening(process: NodeProcess): void {
  for (const each of ours) process.off(EVENT, each as Handler);
  ours.clear();
}

/** When all runs have ended, throws what was uncaught: nothing else of the program comes after it. */
export async function rethrowUncaught(): Promise<void> {
  if (!failure || running > 0) return;
  const { error } = failure;
  failure.stopListening();
  failure = undefined;
  await new Promise((_, reject) => {
    setImmediate(() => {
      // Where a handler keeps the process after all, the caller hears of it.
      setImmediate(() => reject(error as Error));
      throw error;
    });
  });
}
