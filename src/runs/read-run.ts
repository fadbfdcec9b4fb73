// Reads a run back: its metrics as typed arrays, also while the run is still writing; its events; its run.json.
import { HooklineError, OptionError } from "../core/errors.ts";
import { didYouMean } from "../core/names.ts";
import { nodeFs } from "./files.ts";
import { eventVisitor, FileFollower } from "./follow.ts";
import { FORMATS } from "./layout.ts";
import { FIELDS, keyOf } from "./log-lines.ts";
import { RecordTable } from "./record-table.ts";
import { readRunJson } from "./run-json.ts";
import type { RunEvent, RunInfo } from "./types.ts";

/** The values of one metric, and where they were logged. */
export interface Series {
  readonly steps: Float64Array;
  readonly values: Float64Array;
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
}

/** What a run has logged. Arrays are copies and never change: after `more()` there are new ones. */
export interface RunLog {
  /** Contents of run.json; undefined when there is none. */
  readonly info: RunInfo | undefined;
  /** One entry for each record, in order. */
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
  /** Seconds of training. */
  readonly elapsed: Float64Array;
  /** Metrics that have at least one number, in the order in which they appeared. */
  readonly names: readonly string[];
  /** How many lines are neither records nor headers. An incomplete last line does not count. */
  readonly problems: number;
  /** The numbers of a metric; an unknown name is an error that lists the names. Each call makes new arrays. */
  get(name: string): Series;
  /** Contents of events.jsonl, as it is now. */
  events(): Promise<RunEvent[]>;
  /**
   * Reads what was written since, and run.json again. Resolves to the number of new records. When a resume has cut the
   * log back to a checkpoint, all of it is read again, and all records count as new.
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
  readonly #follower: FileFollower;
  #records: RecordTable;
  /** Rows before the current read. */
  #rowsBefore = 0;
  /** Copies of the columns in `FIELDS`, made when they are asked for. */
  #fields: (Float64Array | undefined)[] = [];
  /** One read at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  info: RunInfo | undefined;
  names: readonly string[] = [];

  constructor(dir: string) {
    this.#dir = dir;
    this.#path = `${dir}/${FORMATS.metrics.file}`;
    this.#records = new RecordTable(this.#path);
    this.#follower = new FileFollower(this.#path, {
      line: (bytes, from, to) => void this.#records.take(bytes, from, to),
      tooLong: () => this.#records.problems++,
      restart: () => {
        this.#records = new RecordTable(this.#path);
        this.#rowsBefore = 0;
      },
    });
  }

  get steps(): Float64Array {
    return this.#field(0);
  }

  get epochs(): Float64Array {
    return this.#field(1);
  }

  get times(): Float64Array {
    return this.#field(2);
  }

  get elapsed(): Float64Array {
    return this.#field(3);
  }

  get problems(): number {
    return this.#records.problems;
  }

  #field(index: number): Float64Array {
    const { fields, rows } = this.#records.columns;
    return (this.#fields[index] ??= fields[index]!.slice(0, rows));
  }

  get(name: string): Series {
    const { columns } = this.#records;
    const column = columns.find(keyOf(name));
    if (!column || !this.names.includes(column.name)) return this.#fieldSeries(name);
    const { count, rows, values } = column;
    const [allSteps, , allTimes] = columns.fields;
    const [steps, times] = [new Float64Array(count), new Float64Array(count)];
    for (let i = 0; i < count; i++) {
      steps[i] = allSteps![rows[i]!]!;
      times[i] = allTimes![rows[i]!]!;
    }
    return { steps, values: values.slice(0, count), times };
  }

  /** A field that every record has, by its name. */
  #fieldSeries(name: string): Series {
    const index = (FIELDS as readonly string[]).indexOf(name);
    if (index >= 0) return { steps: this.steps.slice(), values: this.#field(index).slice(), times: this.times.slice() };
    const known = this.names.slice(0, 100);
    const hint = `${didYouMean(name, known)} There is: ${known.join(", ") || "none"}.`;
    throw new OptionError(`${this.#dir}: there is no metric \`${name}\`.${hint}`);
  }

  async events(): Promise<RunEvent[]> {
    const events: RunEvent[] = [];
    await new FileFollower(`${this.#dir}/${FORMATS.events.file}`, eventVisitor(events)).read();
    return events;
  }

  more(): Promise<number> {
    const turn = this.#turn.then(() => this.#read());
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #read(): Promise<number> {
    this.#rowsBefore = this.#records.columns.rows;
    const exists = await this.#follower.read();
    if (!exists) throw noMetrics(this.#path);
    const { columns } = this.#records;
    this.info = readRunJson(nodeFs("readRun"), this.#dir);
    this.names = columns.names();
    this.#fields = [];
    return columns.rows - this.#rowsBefore;
  }
}

const noMetrics = (path: string): HooklineError =>
  new HooklineError(`${path}: it does not exist. Expected a run directory to which \`jsonl()\` has logged.`);
