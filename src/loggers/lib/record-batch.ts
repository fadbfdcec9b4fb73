// Records on their way to another thread: their numbers in one array, and the names once for all records that share them.
import type { LogRecord, RunEvent } from "../../runs/types.ts";

/** Records one after the other that have the same metrics. */
interface Shape {
  readonly names: readonly string[];
  count: number;
}

/** What was logged and what happened, as data that is cheap to hand over. */
export interface RecordBatch {
  /** Of each record: step, epoch, time, elapsed, and a value for each name of its shape. */
  readonly numbers: Float64Array;
  readonly shapes: readonly Readonly<Shape>[];
  /** Of the records that have any, with their places. */
  readonly media: readonly (readonly [at: number, media: LogRecord["media"]])[];
  /** Of the records of other weights than the last, with their places: the weights' steps. */
  readonly weightsSteps: readonly (readonly [at: number, step: number])[];
  readonly events: readonly RunEvent[];
}

/** `step`, `epoch`, `time` and `elapsed`. */
const FIELDS = 4;
/** Pixels and long texts are not kept waiting for many others. */
const MEDIA_WEIGHT = 16;
const NO_PIXELS = new Uint8Array(0);

/** Takes records on the training thread, where each costs a fraction of a microsecond. */
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
  /** How much it is: a record counts as one, histograms, texts and images of one as some more. */
  weight = 0;

  /** Without `images` their pixels stay behind: that there were some is all that is told. */
  constructor(options: { readonly images: boolean }) {
    this.#images = options.images;
  }

  get isEmpty(): boolean {
    return this.#records === 0 && this.#events.length === 0;
  }

  add({ step, epoch, time, elapsed, scalars, media, weightsStep }: LogRecord): void {
    let at = this.#used + FIELDS;
    let place = 0;
    let isSame = this.#shapes.length > 0;
    const names = this.#names;
    // The names are nearly always those of the record before.
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

  /** All that was added since the last time; its numbers have a buffer of their own, which may be transferred. */
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

/** The records as they were. */
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

/** Slower, for the one name that cannot be assigned to. */
const byDefinition: ReadScalars = (names, numbers, at) =>
  Object.fromEntries(names.map((name, i) => [name, numbers[at + i]!]));
