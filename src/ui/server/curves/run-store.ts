// What a thread keeps of one run: its log as columns, and of each metric that was asked for the blocks and the smoothed
// values. The tail of the log is read before each answer.
import { FileFollower, parseLine } from "../../../runs/follow.ts";
import { nodeFs, readRange } from "../../../runs/files.ts";
import { FORMATS } from "../../../runs/layout.ts";
import { keyOf } from "../../../runs/log-lines.ts";
import type { Columns } from "../../../runs/columns.ts";
import { RecordTable } from "../../../runs/record-table.ts";
import type { SeriesData } from "../../series.ts";
import type { Axis, RunPage, TextsAnswer } from "../../wire.ts";
import { Axes } from "./axes.ts";
import { choosePoints, type Range } from "./choose-points.ts";
import { EventNotes } from "./event-notes.ts";
import { MediaList, type MediaPlace } from "./media-list.ts";
import { Pyramid } from "./pyramid.ts";
import { Smoothing } from "./smoothing.ts";

/** What a page learns of a run besides the row of the list. */
export type RunContents = Pick<
  RunPage,
  "rev" | "records" | "names" | "latest" | "problems" | "parts" | "hooks" | "hookTimes" | "media"
>;

export interface RunNews {
  readonly rev: number;
  readonly records: number;
  readonly step: number;
  readonly time: number;
}

export interface CurveRequest extends Range {
  readonly run: string;
  readonly name: string;
  readonly x: Axis;
  readonly smooth?: number | undefined;
  readonly rev?: number | undefined;
}

/** Revisions never repeat, also when the server is restarted: a page must notice that its points are outdated. */
let lastRev = 0;
const nextRev = (): number => (lastRev = Math.max(lastRev + 1, Date.now()));

/** Half-lives that are kept for each metric. */
const MOST_SMOOTHINGS = 4;

export class RunStore {
  readonly #follower: FileFollower;
  readonly #events: FileFollower;
  readonly #notes = new EventNotes();
  readonly #path: string;
  readonly #eventsPath: string;
  #records: RecordTable;
  #media = new MediaList();
  #axes: Axes;
  #pyramids = new Map<string, Pyramid>();
  #smoothings = new Map<string, Smoothing>();
  #rowNumbers: Float64Array = new Float64Array(0);
  #turn: Promise<unknown> = Promise.resolve();
  /** How much of the log is read, in bytes. */
  #readBytes = 0;
  rev: number = nextRev();

  constructor(dir: string) {
    this.#path = `${dir}/${FORMATS.metrics.file}`;
    this.#eventsPath = `${dir}/${FORMATS.events.file}`;
    this.#records = new RecordTable(this.#path);
    this.#axes = new Axes(this.#records.columns);
    this.#follower = new FileFollower(this.#path, {
      line: (bytes, from, to, at) => {
        this.#readBytes = at + to - from + 1;
        const parsed = this.#records.take(bytes, from, to);
        if (parsed) this.#media.note(parsed, at, to - from);
      },
      tooLong: () => this.#records.problems++,
      restart: () => this.#restart(),
    });
    this.#events = new FileFollower(this.#eventsPath, {
      line: (bytes, from, to) => {
        const parsed = parseLine(bytes, from, to);
        if (parsed) this.#notes.take(parsed);
      },
      tooLong: () => undefined,
      restart: () => this.#notes.clear(),
    });
  }

  /** The log was cut back to a checkpoint, or replaced: nothing of it is valid any more. */
  #restart(): void {
    this.#readBytes = 0;
    this.#records = new RecordTable(this.#path);
    this.#axes = new Axes(this.#records.columns);
    this.#media = new MediaList();
    this.#pyramids = new Map();
    this.#smoothings = new Map();
    this.rev = nextRev();
  }

  /** Reads what was written since. One read at a time. */
  refresh(): Promise<void> {
    const turn = this.#turn.then(async () => {
      if (canRead(this.#path)) await this.#follower.read();
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The share of the log that has been read: from 0 to 1. */
  get progress(): number {
    const size = nodeFs("hookline ui").lstatSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    return size > 0 ? Math.min(1, this.#readBytes / size) : 1;
  }

  get news(): RunNews {
    const { rows, fields } = this.#records.columns;
    const last = (field: number): number => (rows > 0 ? fields[field]![rows - 1]! : 0);
    return { rev: this.rev, records: rows, step: last(0), time: last(2) };
  }

  async contents(): Promise<RunContents> {
    if (canRead(this.#eventsPath)) await this.#events.read();
    const { parts, hooks, hookTimes } = this.#notes;
    return {
      rev: this.rev,
      records: this.#records.columns.rows,
      names: this.#records.columns.names(),
      latest: Object.fromEntries(
        this.#records.columns.names().map((name) => {
          const { count, values } = this.#records.columns.find(name)!;
          return [name, values[count - 1]!];
        }),
      ),
      problems: this.#records.problems,
      parts,
      hooks,
      hookTimes,
      media: this.#media.list(),
    };
  }

  /** Metrics whose names match `grad/norm/*`. */
  matching(pattern: string): string[] {
    const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
    const test = new RegExp(`^${parts.join(".*")}$`, "s");
    return this.#records.columns.names().filter((name) => test.test(name));
  }

  media(name: string, step: number): MediaPlace | undefined {
    return this.#media.find(name, step);
  }

  /** The latest texts of a name, up to a limit of characters. */
  texts(name: string): TextsAnswer["texts"] {
    const fs = nodeFs("hookline ui");
    const fd = fs.openSync(this.#path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
    try {
      return this.#media.texts(name, (at, length) => new TextDecoder().decode(readRange(fs, fd, at, at + length)));
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Empty for a metric that has no values (yet). */
  curve({ run, name, x: axis, smooth = 0, after = 0, rev, ...range }: CurveRequest): SeriesData {
    const { columns } = this.#records;
    const column = name === "step" ? this.#steps() : (columns.find(keyOf(name)) ?? columns.find(name));
    const about = { run, name, rev: this.rev };
    if (!column || column.count === 0)
      return { ...about, total: 0, reduced: false, x: new Float64Array(0), y: new Float64Array(0) };
    const { count, rows, values } = column;
    const { positions, isSorted } = this.#axes.get(axis);
    const x = (i: number): number => positions[rows[i]!]!;
    const curve = { count, values, pyramid: this.#pyramid(name, values, count), x, isSorted };
    const { indexes, isReduced } = choosePoints(curve, { ...range, after: rev === this.rev ? after : 0 });
    const smoothed = smooth > 0 ? this.#smoothing(name, axis, smooth).extend(values, count, x) : undefined;
    return {
      ...about,
      total: count,
      reduced: isReduced,
      x: picked(indexes, x),
      y: picked(indexes, (i) => values[i]!),
      ...(smoothed && { smooth: picked(indexes, (i) => smoothed[i]!) }),
    };
  }

  /** The step of every record, as if it were a metric: it tells where a step is on another axis. */
  #steps(): Pick<Columns["list"][number], "count" | "rows" | "values"> {
    const { rows, fields } = this.#records.columns;
    if (this.#rowNumbers.length < rows) this.#rowNumbers = Float64Array.from({ length: 2 * rows }, (_, i) => i);
    return { count: rows, rows: this.#rowNumbers, values: fields[0]! };
  }

  #pyramid(name: string, values: Float64Array, count: number): Pyramid {
    let pyramid = this.#pyramids.get(name);
    if (!pyramid) this.#pyramids.set(name, (pyramid = new Pyramid()));
    pyramid.extend(values, count);
    return pyramid;
  }

  #smoothing(name: string, axis: Axis, halfLife: number): Smoothing {
    const prefix = `${axis} ${name} `;
    const key = prefix + halfLife;
    const found = this.#smoothings.get(key) ?? new Smoothing(halfLife);
    this.#smoothings.delete(key);
    const same = [...this.#smoothings.keys()].filter((each) => each.startsWith(prefix));
    if (same.length >= MOST_SMOOTHINGS) this.#smoothings.delete(same[0]!);
    this.#smoothings.set(key, found);
    return found;
  }

  /** Memory that the store takes, about. */
  get bytes(): number {
    const { list, fields } = this.#records.columns;
    const columns = list.reduce((sum, { values, rows }) => sum + values.byteLength + rows.byteLength, 0);
    const ofFields = fields.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const derived = [...this.#pyramids.values(), ...this.#smoothings.values()].reduce(
      (sum, { bytes }) => sum + bytes,
      0,
    );
    return columns + ofFields + derived + this.#axes.bytes;
  }
}

/** `Float64Array.from` takes several times as long. */
function picked(indexes: Uint32Array, value: (index: number) => number): Float64Array {
  const numbers = new Float64Array(indexes.length);
  for (let i = 0; i < indexes.length; i++) numbers[i] = value(indexes[i]!);
  return numbers;
}

/** Nothing, or a plain file: a link may lead anywhere, and opening a pipe would block. */
const canRead = (path: string): boolean =>
  nodeFs("hookline ui").lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
