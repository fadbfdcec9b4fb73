// hookline worker: runs trials of a study that is controlled elsewhere.
import { currentPlatform, EXIT_CODES } from "../platform/platform.ts";
import { keyOfEnvironment } from "../tune/runners/bullmq.ts";
import { work } from "../tune/runners/bullmq/worker.ts";
import { running } from "./lib/exit.ts";
import { say } from "./lib/output.ts";

interface Flags {
  readonly redis: string;
  readonly study: string;
  readonly concurrency: number;
  readonly memory?: number;
  readonly timeout?: number;
  readonly recycle: number;
  readonly allow?: readonly string[];
}

/** Trials have ten seconds to write a checkpoint; then there is Redis to be told. */
const SIGNAL_GRACE = 15_000;

/** Until a signal ends it. */
export async function run({ redis, study, concurrency, memory, timeout, recycle, allow }: Flags): Promise<number> {
  const abort = new AbortController();
  const stopListening = currentPlatform().onSignals((signal) => abort.abort(signal), SIGNAL_GRACE);
  try {
    await running(() =>
      work({
        redis,
        study,
        size: concurrency,
        memory,
        timeout,
        recycle,
        directory: process.cwd(),
        key: keyOfEnvironment(),
        allow,
        signal: abort.signal,
        warn: (message) => say(`warning: ${message}`),
        say,
      }),
    );
  } finally {
    stopListening();
  }
  return EXIT_CODES[String(abort.signal.reason)]!;
}
