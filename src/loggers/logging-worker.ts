// The logging thread: backends that format, write and send, so that the training thread does none of it.
import { notify, serve, threadData } from "../platform/thread.ts";
import type { LoggerBackend } from "./backend.ts";
import { makerOf } from "./catalogue.ts";
import { FLUSH, FLUSHED, TAKEN, type BackendWarning, type Call, type LoggingRequest } from "./logging-thread.ts";
import { recordsOf, type RecordBatch } from "./threaded-backend.ts";

const cells = threadData() as Int32Array;
const backends = new Map<number, LoggerBackend>();
/** What a backend threw when it was given a record: the next call fails with it. */
const failures = new Map<number, unknown>();

function take(number: number, batch: RecordBatch): void {
  const backend = backends.get(number);
  const each = (give: () => void): void => {
    try {
      give();
    } catch (error) {
      failures.set(number, error);
    }
  };
  for (const record of recordsOf(batch)) each(() => backend?.log(record));
  for (const event of batch.events) each(() => backend?.event?.(event));
  Atomics.add(cells, TAKEN, 1);
  Atomics.notify(cells, TAKEN);
}

async function run(number: number, call: Call): Promise<void> {
  if (call.method === "open") {
    const warn = (warning: string): void => notify({ backend: number, warning } satisfies BackendWarning);
    const make = await makerOf(call.kind);
    backends.set(number, make(call.settings, warn));
  }
  const backend = backends.get(number);
  if (call.method === "open") await backend?.open(call.run);
  else if (call.method === "close") {
    backends.delete(number);
    await backend?.close(call.end);
  } else await backend?.flush?.();
  const failure = failures.get(number);
  failures.delete(number);
  if (failure !== undefined) throw failure;
}

function wake(outcome: number): void {
  Atomics.store(cells, FLUSHED, outcome);
  Atomics.notify(cells, FLUSHED);
}

serve(async ({ backend, batch, call }: LoggingRequest) => {
  if (batch) take(backend, batch);
  if (!call) return;
  const isSync = call.method === "flush" && call.isSync === true;
  try {
    await run(backend, call);
    if (isSync) wake(FLUSH.done);
  } catch (error) {
    if (isSync) wake(FLUSH.failed);
    throw error;
  }
});
