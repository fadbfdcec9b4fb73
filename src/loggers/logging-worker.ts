// The logging thread: backends that format, write and send, so that training does none of it.
import { builtin } from "../platform/builtin.ts";
import { toFailure } from "../platform/thread-failure.ts";
import type { LoggerBackend } from "./backend.ts";
import { csvTable } from "./csv.ts";
import { jsonlFiles } from "./jsonl.ts";
import { mlflowSender } from "./mlflow/sender.ts";
import { eventFiles } from "./tensorboard/tensorboard.ts";
import { wandbSender } from "./wandb/sender.ts";
import { wandbOffline } from "./wandb/offline.ts";
import { type BackendKind, type MakeBackend, type RecordBatch, recordsOf } from "./threaded-backend.ts";
import { FLUSH, FLUSHED, READY, TAKEN, type Call, type FromThread, type ToThread } from "./logging-thread.ts";

interface Threads {
  readonly workerData: Int32Array;
  readonly parentPort: {
    on(event: "message", handler: (message: ToThread) => void): void;
    postMessage(message: FromThread): void;
  };
}

const KINDS = {
  jsonl: jsonlFiles,
  csv: csvTable,
  tensorboard: eventFiles,
  wandb: wandbSender,
  wandbOffline,
  mlflow: mlflowSender,
} satisfies Record<BackendKind, MakeBackend<never>>;

const { parentPort, workerData: cells } = builtin<Threads>("The logging thread", "node:worker_threads");
const backends = new Map<number, LoggerBackend>();
/** What a backend threw when it was given a record: the next flush tells. */
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
    const warn = (warning: string): void => parentPort.postMessage({ backend: number, warning });
    const make = KINDS[call.kind as BackendKind] as MakeBackend<object>;
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

function tellFlushed(outcome: number): void {
  Atomics.store(cells, FLUSHED, outcome);
  Atomics.notify(cells, FLUSHED);
}

parentPort.on("message", ({ backend, batch, call }) => {
  if (batch) take(backend, batch);
  if (!call) return;
  const isWaitedFor = call.method === "flush" && call.isWaitedFor === true;
  run(backend, call).then(
    () => {
      if (isWaitedFor) tellFlushed(FLUSH.done);
      parentPort.postMessage({ id: call.id });
    },
    (error: unknown) => {
      if (isWaitedFor) tellFlushed(FLUSH.failed);
      parentPort.postMessage({ id: call.id, failure: toFailure(error) });
    },
  );
});
parentPort.postMessage({ id: READY });
