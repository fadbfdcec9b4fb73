// A backend whose work another thread does: the training thread packs what is logged, and hands it over now and then.
import { printWarning } from "../../platform/print.ts";
import { flushAtExit } from "../append-file.ts";
import type { FileBackend } from "../backend.ts";
import type { LoggerBackend, Warn } from "../backend.ts";
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../../runs/types.ts";
import { inTimer } from "./in-timer.ts";
import { loggingThread, type LoggingThread } from "./logging-thread.ts";
import { BatchWriter } from "./record-batch.ts";

/** Those that the logging thread knows. */
export type BackendKind = "jsonl" | "csv" | "tensorboard" | "wandb" | "wandbOffline" | "mlflow";

/** The backend itself, on whichever thread. Settings are plain data. */
export type MakeBackend<Settings> = (settings: Settings, warn: Warn) => LoggerBackend;

interface Threaded {
  readonly name: string;
  readonly kind: BackendKind;
  /** Does it show images? */
  readonly images?: boolean;
}

export interface ThreadedOptions<Settings extends object> extends Threaded {
  readonly make: MakeBackend<Settings>;
  /** When a run begins: reads the environment, and throws when something is missing. */
  readonly settings: (run: RunFacts) => Settings;
  /** Where warnings go, if not where the logger's do. */
  readonly warn?: Warn | undefined;
}

/** So many records go over at once, if no time comes first. */
const MOST_RECORDS = 256;
const SEND_EVERY = 500;

type Opened = LoggerBackend & Partial<Pick<FileBackend, "flushSync">>;

export function threadedBackend<Settings extends object>(options: ThreadedOptions<Settings>): FileBackend {
  const { name, make, settings } = options;
  let opened: Opened | undefined;

  async function start(made: Settings, run: RunFacts, warn: Warn): Promise<void> {
    const thread = await loggingThread();
    // Where there are no threads, the same backend works in this one.
    opened = thread ? new OnThread(thread, options, made, warn) : make(made, warn);
    await opened.open(run, warn);
  }

  return {
    name,
    open(run, warn = (message) => printWarning(`${name}: ${message}`)) {
      const own = options.warn;
      return start(settings(run), run, own ? (message) => own(`${name}: ${message}`) : warn);
    },
    log: (record) => opened?.log(record),
    event: (event) => opened?.event?.(event),
    flush: async () => opened?.flush?.(),
    flushSync: () => opened?.flushSync?.(),
    async close(end) {
      const last = opened;
      opened = undefined;
      await last?.close(end);
    },
  };
}

class OnThread implements FileBackend {
  readonly name: string;
  readonly #thread: LoggingThread;
  readonly #number: number;
  readonly #kind: BackendKind;
  readonly #settings: object;
  readonly #batch: BatchWriter;
  #timer: ReturnType<typeof setInterval> | undefined;
  #leave: (() => void) | undefined;

  constructor(thread: LoggingThread, options: Threaded, settings: object, warn: Warn) {
    this.name = options.name;
    this.#thread = thread;
    this.#number = thread.enter(warn);
    this.#kind = options.kind;
    this.#settings = settings;
    this.#batch = new BatchWriter({ images: options.images ?? false });
  }

  async open(run: RunFacts): Promise<void> {
    await this.#thread.call(this.#number, { method: "open", kind: this.#kind, settings: this.#settings, run });
    // Where it fails, the next flush or `close` fails as well, and tells.
    const stop = (): void => clearInterval(this.#timer);
    this.#timer = setInterval(
      inTimer(() => this.#send(), stop),
      SEND_EVERY,
    );
    // A run that is never closed must not keep the process: what waits is flushed when it ends.
    this.#timer.unref();
    this.#leave = flushAtExit(this);
  }

  log(record: LogRecord): void {
    this.#batch.add(record);
    if (this.#batch.weight >= MOST_RECORDS) this.#send();
  }

  event(event: RunEvent): void {
    this.#batch.addEvent(event);
  }

  flush(): Promise<void> {
    return this.#thread.call(this.#number, { method: "flush" }, this.#batch.take());
  }

  flushSync(): void {
    this.#thread.flushSync(this.#number, this.#batch.take());
  }

  async close(end: RunEnd): Promise<void> {
    clearInterval(this.#timer);
    this.#leave?.();
    try {
      await this.#thread.call(this.#number, { method: "close", end }, this.#batch.take());
    } finally {
      this.#thread.leave(this.#number);
    }
  }

  #send(): void {
    if (!this.#batch.isEmpty) this.#thread.send(this.#number, this.#batch.take());
  }
}
