// Reads a run back: its metrics as typed arrays, fast, also while the run goes on; its events; what it is.
import { HooklineError, OptionError } from "../core/errors.ts";
import { didYouMean } from "../core/names.ts";
import { codeOf } from "../platform/error-code.ts";
import { nodeFs } from "./files.ts";
import { logProblem } from "../platform/file-errors.ts";
import type { RunEvent, RunInfo } from "./types.ts";
import { FIELDS, keyOf, METRICS_SCHEMA, VERSION } from "./log-lines.ts";
import { Columns } from "./columns.ts";
import { openToRead, readLines, type FileHandle, type LineVisitor } from "./read-lines.ts";
import { LineScanner } from "./scan-line.ts";
import { readRunJson } from "./run-json.ts";

/** The values of one metric, and where they were logged. */
export interface Series {
  readonly steps: Float64Array;
  readonly values: Float64Array;
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
}

/** What a run has logged. The arrays stay as they are: `more()` makes new ones. */
export interface RunLog {
  /** What run.json says; undefined when there is none. */
  readonly info: RunInfo | undefined;
  /** Of every record, in order. */
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
  /** Seconds of training. */
  readonly elapsed: Float64Array;
  /** Metrics that have at least one number, in the order in which they appeared. */
  readonly names: readonly string[];
  /** Lines that are neither records nor headers. A torn last line is none of them. */
  readonly problems: number;
  /** The numbers of a metric; an unknown name is an error that lists the names. Each call makes new arrays. */
  get(name: string): Series;
  /** What happened: events.jsonl as it is now. */
  events(): Promise<RunEvent[]>;
  /**
   * Reads what came since, and run.json again. Resolves to the number of records that are new; after the run went back
   * to a checkpoint, all that are there.
   */
  more(): Promise<number>;
}

/**
 * Reads the run in a directory.
 * @example const { steps, values } = (await readRun("runs/digits")).get("val/loss");
 */
export async function readRun(dir: string): Promise<RunLog> {
  if (typeof dir !== "string" || dir === "") throw new OptionError("readRun: expected the path of a run directory.");
  const log = new Reader(dir);
  await log.more();
  return log;
}

class Reader implements RunLog {
  readonly #dir: string;
  readonly #path: string;
  #columns = new Columns();
  #scanner = new LineScanner(this.#columns);
  /** Up to where the file has been read, and the last bytes before: they tell whether it is still the same file. */
  #offset = 0;
  #last: Uint8Array = new Uint8Array(0);
  #fields: readonly Float64Array[] = [];
  /** One reading at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  info: RunInfo | undefined;
  names: readonly string[] = [];
  problems = 0;

  constructor(dir: string) {
    this.#dir = dir;
    this.#path = `${dir}/metrics.jsonl`;
  }

  get steps(): Float64Array {
    return this.#fields[0]!;
  }

  get epochs(): Float64Array {
    return this.#fields[1]!;
  }

  get times(): Float64Array {
    return this.#fields[2]!;
  }

  get elapsed(): Float64Array {
    return this.#fields[3]!;
  }

  get(name: string): Series {
    const column = this.#columns.find(keyOf(name));
    if (!column || !this.names.includes(column.name)) return this.#field(name);
    const { count, rows, values } = column;
    const [steps, times] = [new Float64Array(count), new Float64Array(count)];
    for (let i = 0; i < count; i++) {
      steps[i] = this.steps[rows[i]!]!;
      times[i] = this.times[rows[i]!]!;
    }
    return { steps, values: values.slice(0, count), times };
  }

  /** What every record has, by its name. */
  #field(name: string): Series {
    const values = this.#fields[(FIELDS as readonly string[]).indexOf(name)];
    if (values) return { steps: this.steps.slice(), values: values.slice(), times: this.times.slice() };
    const known = this.names.slice(0, 100);
    const hint = `${didYouMean(name, known)} There is: ${known.join(", ") || "none"}.`;
    throw new OptionError(`${this.#dir}: there is no metric \`${name}\`.${hint}`);
  }

  async events(): Promise<RunEvent[]> {
    const events: RunEvent[] = [];
    const line = (bytes: Buffer, from: number, to: number): void => {
      const parsed = parse(bytes, from, to);
      if (typeof parsed?.["type"] === "string") events.push(parsed as unknown as RunEvent);
    };
    try {
      const file = await openToRead("readRun", `${this.#dir}/events.jsonl`);
      await readLines(file, 0, { line, tooLong: () => undefined }).finally(() => file.close());
    } catch (error) {
      // A run need not have any.
      if (codeOf(error) !== "ENOENT") throw logProblem(`${this.#dir}/events.jsonl`, error);
    }
    return events;
  }

  more(): Promise<number> {
    const turn = this.#turn.then(() => this.#read());
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #read(): Promise<number> {
    try {
      const file = await openToRead("readRun", this.#path);
      try {
        if (!(await this.#isSame(file))) this.#startAnew();
        const before = this.#columns.rows;
        this.#offset = await readLines(file, this.#offset, this.#visitor);
        await this.#remember(file);
        this.#show();
        return this.#columns.rows - before;
      } finally {
        await file.close();
      }
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? noMetrics(this.#path) : logProblem(this.#path, error);
    }
  }

  readonly #visitor: LineVisitor = {
    line: (bytes, from, to) => {
      if (to > from && !this.#scanner.scan(bytes, from, to) && !this.#takeOther(bytes, from, to)) this.problems++;
    },
    tooLong: () => this.problems++,
  };

  /** A record of another shape than our writer's plain ones, or a header. */
  #takeOther(bytes: Buffer, from: number, to: number): boolean {
    const parsed = parse(bytes, from, to);
    if (!parsed) return false;
    if (typeof parsed["schema"] === "string") return checkHeader(this.#path, parsed);
    let count = 0;
    for (const [key, value] of Object.entries(parsed)) {
      const number = typeof value === "number" ? value : NON_FINITE.get(value);
      if (number !== undefined) this.#columns.note(count++, this.#columns.place(key), number);
    }
    return this.#columns.commit(count);
  }

  /** Going on from a checkpoint cuts the file, and a new run has a new one: then what was read before is not there. */
  async #isSame(file: FileHandle): Promise<boolean> {
    const { length } = this.#last;
    const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, this.#offset - length);
    return bytesRead === length && buffer.every((byte, i) => byte === this.#last[i]);
  }

  async #remember(file: FileHandle): Promise<void> {
    const length = Math.min(this.#offset, TAIL);
    const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, this.#offset - length);
    this.#last = buffer.subarray(0, bytesRead);
  }

  #startAnew(): void {
    this.#columns = new Columns();
    this.#scanner = new LineScanner(this.#columns);
    this.#offset = 0;
    this.problems = 0;
  }

  #show(): void {
    this.info = readRunJson(nodeFs("readRun"), this.#dir);
    this.names = this.#columns.names();
    // Copies: what a caller does to them is not done to what is read later.
    this.#fields = this.#columns.fields.map((field) => field.slice(0, this.#columns.rows));
  }
}

/** How much of the end of the file is compared. */
const TAIL = 256;

const NON_FINITE: ReadonlyMap<unknown, number> = new Map(
  [NaN, Infinity, -Infinity].map((value) => [`${value}`, value]),
);

/** Undefined when it is no JSON object. */
function parse(bytes: Buffer, from: number, to: number): Record<string, unknown> | undefined {
  try {
    const parsed = JSON.parse(bytes.toString("utf8", from, to)) as unknown;
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** False for a line of something else. */
function checkHeader(path: string, { schema, version }: Record<string, unknown>): boolean {
  if (schema !== METRICS_SCHEMA || typeof version !== "number") return false;
  if (version <= VERSION) return true;
  throw new HooklineError(
    `${path}: it has version ${version}, and this hookline reads up to ${VERSION}. Update hookline.`,
  );
}

const noMetrics = (path: string): HooklineError =>
  new HooklineError(`${path}: it does not exist. Expected a run directory to which \`jsonl()\` has logged.`);
