// Records as lines of a queue: one line per step, with NaN and infinities preserved.
import type { Json } from "../../core/options.ts";
import type { Media } from "../../core/media.ts";
import { builtin } from "../../platform/builtin.ts";
import type { LogRecord, RunEnd } from "../../runs/types.ts";
import { encodePngNow } from "../png.ts";

/** NaN and infinities as text, because JSON has no numbers for them. */
export type Scalar = number | "NaN" | "Infinity" | "-Infinity";

export interface LoggedLine {
  readonly kind: "log";
  readonly step: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Seconds of training. */
  readonly elapsed: number;
  readonly scalars: Readonly<Record<string, Scalar>>;
  /** Histograms, texts and images, for services that take them. */
  readonly media?: Readonly<Record<string, Json>>;
}

export interface EndLine {
  readonly kind: "end";
  readonly status: RunEnd["status"];
  readonly reason: string;
  readonly step: number;
  readonly time: number;
  readonly elapsed: number;
}

type QueueLine = LoggedLine | EndLine;

/** The parsed line; undefined for a damaged one. */
export function parseLine(line: string): QueueLine | undefined {
  try {
    const { kind, ...rest } = JSON.parse(line) as QueueLine;
    return kind === "log" || kind === "end" ? ({ kind, ...rest } as QueueLine) : undefined;
  } catch {
    return undefined;
  }
}

/** Milliseconds after which the last step counts as complete, even if no later one has come. */
const SETTLED = 1000;

/** Keeps records until they are taken as lines. */
export class RecordLines {
  readonly #media: boolean;
  #records: LogRecord[] = [];
  readonly #names = new Map<string, string>();
  #since = 0;

  constructor(options: { readonly media: boolean }) {
    this.#media = options.media;
  }

  get length(): number {
    return this.#records.length;
  }

  add(record: LogRecord): void {
    if (record.step !== this.#records.at(-1)?.step) this.#since = performance.now();
    this.#records.push(record);
  }

  /** The steps that are complete; with `all`, also the last one, which more records may belong to. */
  take(all: boolean): string[] {
    const records = this.#records;
    const last = records.at(-1)?.step;
    const keep = !all && performance.now() - this.#since < SETTLED;
    const cut = keep ? records.findIndex(({ step }) => step === last) : records.length;
    this.#records = records.slice(cut);
    const lines: string[] = [];
    for (let at = 0; at < cut;) {
      const from = at;
      while (at < cut && records[at]!.step === records[from]!.step) at++;
      lines.push(this.#line(records.slice(from, at)));
    }
    return lines;
  }

  #line(records: readonly LogRecord[]): string {
    const { step, time, elapsed } = records.at(-1)!;
    const parts: string[] = [];
    // If a name comes twice, the later value counts in JSON, as it should.
    for (const { scalars } of records) {
      for (const name in scalars) {
        const value = scalars[name]!;
        parts.push(`${this.#quoted(name)}:${Number.isFinite(value) ? value : `"${value}"`}`);
      }
    }
    const media = this.#media ? mediaOf(records) : "";
    return `{"kind":"log","step":${step},"time":${time},"elapsed":${elapsed},"scalars":{${parts.join(",")}}${media}}`;
  }

  #quoted(name: string): string {
    let quoted = this.#names.get(name);
    if (quoted === undefined) this.#names.set(name, (quoted = JSON.stringify(name)));
    return quoted;
  }
}

function mediaOf(records: readonly LogRecord[]): string {
  const all = records.flatMap(({ media }) => Object.entries(media));
  if (all.length === 0) return "";
  return `,"media":${JSON.stringify(Object.fromEntries(all.map(([name, media]) => [name, lineOf(media)])))}`;
}

/** An image in a line: a PNG file in base64. */
export interface ImageLine {
  readonly kind: "image";
  readonly width: number;
  readonly height: number;
  readonly png: string;
}

function lineOf(media: Media): Media | ImageLine {
  if (media.kind !== "image") return media;
  const { width, height } = media;
  const { Buffer } = builtin("logger", "node:buffer");
  return { kind: "image", width, height, png: Buffer.from(encodePngNow(media)).toString("base64") };
}

export const endLine = ({ status, reason, step, time, elapsed }: RunEnd): string =>
  JSON.stringify({ kind: "end", status, reason, step, time, elapsed } satisfies EndLine);

/** The latest step of each metric. */
export type Latest = Readonly<Record<string, number>>;

/** The steps of each metric that a service has: it deletes nothing, so what a resumed run logs again is left out. */
export class Seen {
  readonly #latest: Map<string, number>;

  constructor(latest: Latest = {}) {
    this.#latest = new Map(Object.entries(latest));
  }

  isNew(name: string, step: number): boolean {
    return step > (this.#latest.get(name) ?? -Infinity);
  }

  add(name: string, step: number): void {
    if (this.isNew(name, step)) this.#latest.set(name, step);
  }

  toJSON(): Latest {
    return Object.fromEntries(this.#latest);
  }
}
