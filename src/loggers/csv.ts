// metrics.csv: the metrics of a run as a table, for spreadsheets.
import { component } from "../core/component.ts";
import { HooklineError } from "../core/errors.ts";
import type { TextMedia } from "../core/media.ts";
import { is } from "../core/options.ts";
import { Fence } from "../runs/fence.ts";
import {
  chunksOf,
  directoryOf,
  firstLine,
  makeDirectory,
  nodeFs,
  replaceFile,
  setAside,
  type Fs,
} from "../runs/files.ts";
import { AppendFile, flushAtExit } from "./append-file.ts";
import type { FileBackend, FileSettings } from "./backend.ts";
import type { LogRecord, RunFacts } from "../runs/types.ts";
import { lastRecordOf, FIELDS, isRepeated, keyOf, microseconds } from "../runs/log-lines.ts";
import { threadedBackend } from "./threaded-backend.ts";
import { CSV_FILE } from "../runs/layout.ts";

/** Options of `csv`. */
export interface CsvOptions {
  /** Default: the trainer's `runDir`. */
  readonly dir?: string;
  readonly name?: string;
}

/** Records wait for a flush or until there are this many, since the first records bring most of the columns. */
const MOST_WAITING = 500;
/** A new column rewrites the file, so an endless stream of new names must be bounded. */
const MOST_COLUMNS = 1000;
/** Records that may wait while the table cannot be written. */
const MOST_KEPT = 100_000;

/**
 * Writes every record as a row of `<runDir>/metrics.csv`: numbers and texts. When a new metric appears, the table is
 * rewritten with one more column. A resumed run continues the same file.
 * @example csv()
 */
export const csv = /* @__PURE__ */ component(
  { kind: "logger", name: "csv", takes: () => ({ options: { dir: is.pathToWrite, name: is.name } }) },
  (options: CsvOptions = {}): FileBackend => {
    const { name = "csv", dir } = options;
    return threadedBackend({ name, kind: "csv", make: csvTable, settings: () => ({ name, dir }) });
  },
);

/** The table of one run. */
export function csvTable({ name, dir }: FileSettings): FileBackend {
  let table: Table | undefined;
  return {
    name,
    open(run) {
      table = new Table(name, directoryOf(name, dir ?? run.dir), run);
    },
    log: (record) => table?.add(record),
    flush: async () => table?.flush(),
    flushSync: () => table?.flushSync(),
    close: () => table?.close(),
  };
}

class Table {
  readonly #owner: string;
  readonly #fs: Fs;
  readonly #path: string;
  /** The header's cells as written, with their positions. */
  readonly #columns = new Map<string, number>();
  /** How many of them are in the file. */
  #width = 0;
  /** The header cell of each metric. */
  readonly #cells = new Map<string, string>();
  readonly #fence: Fence | undefined;
  #file: AppendFile;
  #waiting: LogRecord[] = [];
  #lost = 0;
  #leftOut = new Set<string>();
  readonly #leave: () => void;

  constructor(owner: string, dir: string, run: RunFacts) {
    this.#owner = owner;
    this.#fs = nodeFs(owner);
    this.#path = `${dir}/${CSV_FILE}`;
    this.#fence = run.lock && new Fence(run.lock);
    this.#fence?.check();
    makeDirectory(this.#fs, dir);
    const { text, isWhole } = firstLine(this.#fs, this.#path);
    // Another run's table is kept under another name.
    if (!run.resumedAt || !text.startsWith(FIELDS.join())) setAside(this.#fs, this.#path);
    this.#file = this.#openFile();
    this.#file.truncateAfter(lastRecordOf(run), (line) => (line === text ? -Infinity : Number.parseFloat(line)));
    const isGoingOn = isWhole && this.#file.size > 0;
    for (const cell of isGoingOn ? splitRow(text) : FIELDS) this.#columns.set(cell, this.#columns.size);
    if (isGoingOn) this.#width = this.#columns.size;
    this.#leave = flushAtExit(this);
  }

  #openFile(): AppendFile {
    return AppendFile.open(this.#owner, this.#path, { fence: this.#fence });
  }

  add(record: LogRecord): void {
    if (this.#waiting.length >= MOST_KEPT) {
      this.#lost++;
      return;
    }
    this.#waiting.push(withoutPixels(record));
    if (this.#waiting.length % MOST_WAITING !== 0) return;
    try {
      this.#drain();
    } catch {
      // The records are kept, and the next flush reports the problem.
    }
  }

  async flush(): Promise<void> {
    this.#drain();
    await this.#file.flush();
    this.#report();
  }

  flushSync(): void {
    this.#drain();
    this.#file.flushSync();
  }

  async close(): Promise<void> {
    this.#leave();
    try {
      this.#drain();
    } finally {
      await this.#file.close();
    }
    this.#report();
  }

  /** Writes the waiting records as rows, once the table has all their columns. */
  #drain(): void {
    for (const record of this.#waiting) {
      for (const name of Object.keys(record.scalars)) if (!isRepeated(record, name)) this.#addColumn(name);
      for (const name of Object.keys(record.media)) this.#addColumn(name);
    }
    if (this.#waiting.length > 0 && this.#columns.size > this.#width) this.#widen();
    let rows = "";
    for (const record of this.#waiting) rows += this.#row(record);
    this.#waiting = [];
    this.#file.append(rows);
  }

  #addColumn(name: string): void {
    if (this.#cells.has(name)) return;
    const cell = textCell(keyOf(name));
    if (!this.#columns.has(cell) && this.#columns.size >= MOST_COLUMNS) {
      if (this.#leftOut.size < MOST_COLUMNS) this.#leftOut.add(name);
      return;
    }
    this.#cells.set(name, cell);
    if (!this.#columns.has(cell)) this.#columns.set(cell, this.#columns.size);
  }

  #row(record: LogRecord): string {
    const { step, epoch, time, elapsed, scalars, media } = record;
    const cells = Array.from<string | number>({ length: this.#columns.size }).fill("");
    [cells[0], cells[1], cells[2], cells[3]] = [step, epoch, time, microseconds(elapsed)];
    const put = (name: string, value: string | number): void => {
      const cell = this.#cells.get(name);
      if (cell !== undefined) cells[this.#columns.get(cell)!] = value;
    };
    for (const name of Object.keys(scalars)) if (!isRepeated(record, name)) put(name, scalars[name]!);
    for (const name of Object.keys(media)) put(name, textCell((media[name] as TextMedia).text));
    return `${cells.join()}\n`;
  }

  /** Rewrites the table with empty cells for the new columns. A kill leaves the old table or the new one. */
  #widen(): void {
    this.#file.flushSync();
    const encoder = new TextEncoder();
    const more = encoder.encode(`${",".repeat(this.#columns.size - this.#width)}\n`);
    const { text, isWhole } = firstLine(this.#fs, this.#path);
    this.#fence?.check();
    replaceFile(this.#fs, this.#path, (put) => {
      put(encoder.encode(`${[...this.#columns.keys()].join()}\n`));
      if (!isWhole) return;
      for (const chunk of chunksOf(this.#fs, this.#path, encoder.encode(text).length + 1)) put(withEnds(chunk, more));
    });
    const old = this.#file;
    this.#file = this.#openFile();
    this.#width = this.#columns.size;
    // The new file has all its rows.
    old.close().catch(() => undefined);
  }

  #report(): void {
    const [lost, leftOut] = [this.#lost, [...this.#leftOut]];
    this.#lost = 0;
    this.#leftOut = new Set();
    const problems = [
      ...(lost > 0 ? [`${lost} rows were lost while the table could not be written`] : []),
      ...(leftOut.length > 0
        ? [`there are more than ${MOST_COLUMNS} columns; left out are ${leftOut.slice(0, 3).join(", ")} and others`]
        : []),
    ];
    if (problems.length > 0) throw new HooklineError(`${this.#path}: ${problems.join("; ")}.`);
  }
}

/** The record without images, whose pixels would fill the memory: of media, the table has only texts. */
function withoutPixels(record: LogRecord): LogRecord {
  const media = Object.entries(record.media);
  if (media.length === 0) return record;
  return { ...record, media: Object.fromEntries(media.filter(([, { kind }]) => kind === "text")) };
}

const NEWLINE = 10;

/** The bytes with every newline replaced. */
function withEnds(bytes: Uint8Array, end: Uint8Array): Uint8Array {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  const result = new Uint8Array(bytes.length + lines * (end.length - 1));
  let [from, to] = [0, 0];
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
    result.set(bytes.subarray(from, at), to);
    result.set(end, to + at - from);
    to += at - from + end.length;
    from = at + 1;
  }
  result.set(bytes.subarray(from), to);
  return result;
}

/** A spreadsheet runs a cell that begins like this as a formula, which could leak what is in the sheet. */
const FORMULA = /^\s*[=+\-@＝＋－＠]/;
const BREAKS = /[\r\n]+/g;
const LONGEST_TEXT = 32_000;

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A cell, quoted by RFC 4180 and never a formula. Line breaks become spaces: a row is one line, so a torn one shows. */
export function textCell(text: string): string {
  const isLong = text.length > LONGEST_TEXT;
  const line = (isLong ? `${text.slice(0, LONGEST_TEXT)}…` : text).replace(BREAKS, " ");
  return quoted(FORMULA.test(line) ? `'${line}` : line);
}

/** The cells of a row as written, with their quotes. */
export function splitRow(row: string): string[] {
  const cells: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let i = 0; i <= row.length; i++) {
    if (row[i] === '"') isQuoted = !isQuoted;
    else if (i === row.length || (row[i] === "," && !isQuoted)) {
      cells.push(row.slice(start, i));
      start = i + 1;
    }
  }
  return cells;
}
