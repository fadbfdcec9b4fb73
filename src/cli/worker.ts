// hookline worker: runs trials of a study whose controller is another process.
import { currentPlatform, EXIT_CODES } from "../platform/platform.ts";
import { keyOfEnvironment } from "../tune/runners/bullmq.ts";
import { work } from "../tune/runners/bullmq/worker.ts";
import { running } from "./errors.ts";
import { say } from "./output.ts";
import { type CommandDescription, nonEmpty, wholeFrom } from "./command.ts";

export const command: CommandDescription = {
  examples: `worker --redis redis://localhost:6379 --study digits
worker --redis rediss://user:password@queue.example:6380 --study digits --concurrency 4 --timeout 3600`,
  flags: (program) =>
    program
      .requiredOption("--redis <url>", "the study's Redis", nonEmpty)
      .option("--study <name>", "the study's name", nonEmpty, "study")
      .option("--concurrency <n>", "trials at a time, each in a process of its own", wholeFrom(1), 1)
      .option("--memory <MB>", "megabytes that a trial may use", wholeFrom(1))
      .option("--timeout <s>", "seconds that an attempt at a trial may take", wholeFrom(1))
      .option("--recycle <n>", "replace a process after so many trials", wholeFrom(1), 50)
      .option("--allow <export...>", "run these exports only, such as ./trial.ts#train"),
};

interface Flags {
  readonly redis: string;
  readonly study: string;
  readonly concurrency: number;
  readonly memory?: number;
  readonly timeout?: number;
  readonly recycle: number;
  readonly allow?: readonly string[];
}

/** Milliseconds. Trials have ten seconds to write a checkpoint; then Redis must be informed. */
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
