// A backend whose work the logging thread does: the training thread packs records and hands them over in batches.
import { printWarning } from "../platform/print.ts";
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../runs/types.ts";
import { flushAtExit } from "./append-file.ts";
import { type FileBackend, type LoggerBackend, type Warn, inTimer } from "./backend.ts";
import { loggingThread, type LoggingThread } from "./logging-thread.ts";

/** Makes the backend that does the work, on either thread. Settings are plain data. */
export type MakeBackend<Settings> = (settings: Settings, warn: Warn) => LoggerBackend;

interface Threaded {
  readonly name: string;
  /** Its name in the catalogue, where the thread finds it. */
  readonly kind: string;
  /** Does it show images? */
  readonly images?: boolean;
}

interface ThreadedOptions<Settings extends object> extends Threaded {
  readonly make: MakeBackend<Settings>;
  /** Called when a run begins: reads the environment, and throws when something is missing. */
  readonly settings: (run: RunFacts) => Settings;
  /** Where warnings go, if not where the logger's do. */
  readonly warn?: Warn | undefined;
}

/** Records are sent when there are this many, or after `SEND_EVERY` milliseconds. */
const MOST_RECORDS = 256;
const SEND_EVERY = 500;

type Opened = LoggerBackend & Partial<Pick<FileBackend, "flushSync">>;

export function threadedBackend<Settings extends object>(options: ThreadedOptions<Settings>): FileBackend {
  const { name, make, settings } = options;
  let opened: Opened | undefined;

  async function start(made: Settings, run: RunFacts, warn: Warn): Promise<void> {
    const thread = await loggingThread();
    // Without threads, the same backend works on this one.
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
  readonly #kind: string;
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
    // If it fails, the next flush or `close` fails as well and reports it.
    const stop = (): void => clearInterval(this.#timer);
    this.#timer = setInterval(
      inTimer(() => this.#send(), stop),
      SEND_EVERY,
    );
    // A run that is never closed must not keep the process alive: its end flushes what waits.
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

/** Consecutive records with the same metrics. */
interface Shape {
  readonly names: readonly string[];
  count: number;
}

/** Records and events in a form that is cheap to transfer: all numbers in one array, and names once for many records. */
export interface RecordBatch {
  /** Of each record: its fields, and a value for each name of its shape. */
  readonly numbers: Float64Array;
  readonly shapes: readonly Readonly<Shape>[];
  /** Of the records that have any, with their indices. */
  readonly media: readonly (readonly [at: number, media: LogRecord["media"]])[];
  /** The steps of the weights, for records that are not of the last weights, with their indices. */
  readonly weightsSteps: readonly (readonly [at: number, step: number])[];
  readonly events: readonly RunEvent[];
}

/** `step`, `epoch`, `time`, `elapsed`, `samples` and `tokens`; the last two are NaN where they are not known. */
const FIELDS = 6;
/** A record with media counts as this many: pixels and long texts should not wait for many others. */
const MEDIA_WEIGHT = 16;
const NO_PIXELS = new Uint8Array(0);

/** Collects records on the training thread; each costs a fraction of a microsecond. */
export class BatchWriter {
  readonly #images: boolean;
  #numbers = new Float64Array(4096);
  #used = 0;
  #shapes: Shape[] = [];
  #media: [number, LogRecord["media"]][] = [];
  #weightsSteps: [number, number][] = [];
  #events: RunEvent[] = [];
  /** Of the last record. */
  #names: readonly string[] = [];
  #records = 0;
  /** The size of the batch in records; see `MEDIA_WEIGHT`. */
  weight = 0;

  /** Without `images`, records keep their images but not the pixels. */
  constructor(options: { readonly images: boolean }) {
    this.#images = options.images;
  }

  get isEmpty(): boolean {
    return this.#records === 0 && this.#events.length === 0;
  }

  add({ step, epoch, time, elapsed, samples = NaN, tokens = NaN, scalars, media, weightsStep }: LogRecord): void {
    let at = this.#used + FIELDS;
    let place = 0;
    let isSame = this.#shapes.length > 0;
    const names = this.#names;
    // The names are nearly always the same as in the record before.
    for (const name in scalars) {
      if (name !== names[place++]) isSame = false;
      if (at >= this.#numbers.length) this.#grow();
      this.#numbers[at++] = scalars[name]!;
    }
    if (!isSame || place !== names.length) this.#shapes.push({ names: (this.#names = Object.keys(scalars)), count: 0 });
    this.#shapes.at(-1)!.count++;
    if (at >= this.#numbers.length) this.#grow();
    const numbers = this.#numbers;
    numbers[this.#used] = step;
    numbers[this.#used + 1] = epoch;
    numbers[this.#used + 2] = time;
    numbers[this.#used + 3] = elapsed;
    numbers[this.#used + 4] = samples;
    numbers[this.#used + 5] = tokens;
    this.#used = at;
    for (const _ in media) {
      this.#media.push([this.#records, this.#images ? media : withoutPixels(media)]);
      this.weight += MEDIA_WEIGHT;
      break;
    }
    if (weightsStep !== undefined) this.#weightsSteps.push([this.#records, weightsStep]);
    this.#records++;
    this.weight++;
  }

  addEvent(event: RunEvent): void {
    this.#events.push(event);
  }

  /** Everything added since the last call. Its numbers have their own buffer, which can be transferred. */
  take(): RecordBatch {
    const batch = {
      numbers: this.#numbers.slice(0, this.#used),
      shapes: this.#shapes,
      media: this.#media,
      weightsSteps: this.#weightsSteps,
      events: this.#events,
    };
    [this.#shapes, this.#media, this.#weightsSteps, this.#events] = [[], [], [], []];
    [this.#used, this.#records, this.weight] = [0, 0, 0];
    return batch;
  }

  #grow(): void {
    const larger = new Float64Array(2 * this.#numbers.length);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

function withoutPixels(media: LogRecord["media"]): LogRecord["media"] {
  const bare = Object.entries(media).map(([name, each]) =>
    each.kind === "image" ? [name, { ...each, pixels: NO_PIXELS }] : [name, each],
  );
  return Object.fromEntries(bare) as LogRecord["media"];
}

/** The records of a batch, as they were added. */
export function* recordsOf({ numbers, shapes, media, weightsSteps }: RecordBatch): Generator<LogRecord> {
  const shown = new Map(media);
  const weights = new Map(weightsSteps);
  let at = 0;
  let record = 0;
  for (const { names, count } of shapes) {
    const read = names.includes("__proto__") ? byDefinition : byAssignment;
    for (let i = 0; i < count; i++) {
      const weightsStep = weights.get(record);
      yield {
        ...(weightsStep !== undefined && { weightsStep }),
        step: numbers[at]!,
        epoch: numbers[at + 1]!,
        time: numbers[at + 2]!,
        elapsed: numbers[at + 3]!,
        ...(!Number.isNaN(numbers[at + 4]) && { samples: numbers[at + 4]! }),
        ...(!Number.isNaN(numbers[at + 5]) && { tokens: numbers[at + 5]! }),
        scalars: read(names, numbers, at + FIELDS),
        media: shown.get(record++) ?? {},
      };
      at += FIELDS + names.length;
    }
  }
}

type ReadScalars = (names: readonly string[], numbers: Float64Array, at: number) => Record<string, number>;

const byAssignment: ReadScalars = (names, numbers, at) => {
  const scalars: Record<string, number> = {};
  for (let i = 0; i < names.length; i++) scalars[names[i]!] = numbers[at + i]!;
  return scalars;
};

/** Slower, for `__proto__`, which cannot be assigned to. */
const byDefinition: ReadScalars = (names, numbers, at) =>
  Object.fromEntries(names.map((name, i) => [name, numbers[at + i]!]));
