// A thread of Node's whose script lies beside the module that starts it: as compiled, or as the source that tests run.
import { builtin } from "./builtin.ts";

export interface WorkerThread {
  on(event: "message", handler: (message: unknown) => void): void;
  on(event: "error", handler: (error: Error) => void): void;
  on(event: "exit", handler: () => void): void;
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

interface WorkerOptions {
  readonly workerData: unknown;
  readonly transferList: readonly unknown[];
  readonly eval?: boolean;
}

type NewWorker = new (script: URL | string, options: WorkerOptions) => WorkerThread;

/** `beside` is the module's `import.meta.url`, `script` a name without its ending. Ports in the data are transferred. */
export function startWorkerThread(
  beside: string,
  script: string,
  workerData: unknown,
  transferList: readonly unknown[] = [],
): WorkerThread {
  const { Worker } = builtin<{ Worker: NewWorker }>("A thread", "node:worker_threads");
  const path = (ending: string): URL => new URL(beside.replace(/[^/]*$/, `${script}.${ending}`));
  if (!beside.endsWith(".ts")) return new Worker(path("js"), { workerData, transferList });
  // From the sources: tsx, which our tests and examples use, reads the script too.
  const source = JSON.stringify(path("ts").href);
  const load = `import("tsx/esm/api").then(({ tsImport }) => tsImport(${source}, ${source}))`;
  return new Worker(load, { workerData, transferList, eval: true });
}
