// Follows a run while it is written: each call gives what is new, and nothing that was given before is kept or copied.
import { OptionError } from "../core/errors.ts";
import { numberFromJson } from "./exact-json.ts";
import { nodeFs } from "./files.ts";
import { eventVisitor, FileFollower, parseLine } from "./follow.ts";
import { FORMATS } from "./layout.ts";
import { FIELDS, isHeader } from "./log-lines.ts";
import { readRunJson } from "./run-json.ts";
import type { Numbers, RunEvent, RunInfo } from "./types.ts";

/** A record of a log. */
export interface TailedRecord {
  readonly step: number;
  /** From 0. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Seconds of training. */
  readonly elapsed: number;
  /** Numbers by metric. */
  readonly values: Numbers;
}

/** What a run has written since the last call. */
export interface RunNews {
  /** Contents of run.json; undefined when there is none. */
  readonly info: RunInfo | undefined;
  /**
   * The log was cut back to a checkpoint by a resume, or replaced by another run: forget the records of earlier calls,
   * `records` has all that are there.
   */
  readonly restarted: boolean;
  readonly records: readonly TailedRecord[];
  readonly events: readonly RunEvent[];
}

/** A reader that holds its position in the logs of a run. */
export interface RunTail {
  /** Reads what was written since the last call. An incomplete last line is left for a later call. */
  next(): Promise<RunNews>;
}

/**
 * Follows the run in a directory, which need not have logged anything yet.
 * @example
 * const tail = tailRun("runs/digits");
 * for (const { step, values } of (await tail.next()).records) console.log(step, values["loss"]);
 */
export function tailRun(dir: string): RunTail {
  if (typeof dir !== "string" || dir === "") throw new OptionError("tailRun: expected the path of a run directory.");
  const path = `${dir}/${FORMATS.metrics.file}`;
  const records: TailedRecord[] = [];
  const events: RunEvent[] = [];
  let restarted = false;
  const metricsFile = new FileFollower(path, {
    line: (bytes, from, to) => {
      const parsed = parseLine(bytes, from, to);
      const record = parsed && !isHeader(path, parsed) ? toRecord(parsed) : undefined;
      if (record) records.push(record);
    },
    tooLong: () => undefined,
    restart: () => {
      records.splice(0);
      restarted = true;
    },
  });
  const eventsFile = new FileFollower(`${dir}/${FORMATS.events.file}`, eventVisitor(events));

  async function read(): Promise<RunNews> {
    restarted = false;
    const info = readRunJson(nodeFs("tailRun"), dir);
    await metricsFile.read();
    await eventsFile.read();
    return { info, restarted, records: records.splice(0), events: events.splice(0) };
  }

  /** One read at a time. */
  let turn: Promise<unknown> = Promise.resolve();
  return {
    next() {
      const news = turn.then(read);
      turn = news.catch(() => undefined);
      return news;
    },
  };
}

const [STEP, EPOCH, TIME, ELAPSED] = FIELDS;
const IS_FIELD: ReadonlySet<string> = new Set(FIELDS);

/** Undefined for a line without a step. */
function toRecord(parsed: Readonly<Record<string, unknown>>): TailedRecord | undefined {
  const field = (name: string): number => numberFromJson(parsed[name]) ?? NaN;
  if (typeof parsed[STEP] !== "number") return undefined;
  const numbers = Object.entries(parsed).flatMap(([name, value]): [string, number][] => {
    const number = IS_FIELD.has(name) ? undefined : numberFromJson(value);
    return number === undefined ? [] : [[name, number]];
  });
  return {
    step: field(STEP),
    epoch: field(EPOCH),
    time: field(TIME),
    elapsed: field(ELAPSED),
    values: Object.fromEntries(numbers),
  };
}
