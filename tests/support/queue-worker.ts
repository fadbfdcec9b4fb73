// A worker of a study in the test's own process, until the test is over; its trials run in processes of their own.
import { onTestFinished } from "vitest";
import { work, type WorkerOptions } from "../../src/tune/runners/bullmq/worker.ts";

export function queueWorker(
  redis: string,
  study: string,
  options: Partial<WorkerOptions> = {},
): { readonly ended: Promise<void> } {
  const stop = new AbortController();
  const ended = work({
    redis,
    study,
    size: 1,
    memory: undefined,
    timeout: undefined,
    recycle: 50,
    directory: process.cwd(),
    signal: stop.signal,
    warn: () => undefined,
    say: () => undefined,
    ...options,
  });
  onTestFinished(async () => {
    stop.abort("the test is over");
    await ended.catch(() => undefined);
  });
  return { ended };
}
