// metrics.csv: the run's numbers as a table, for spreadsheets and whatever else reads nothing but tables.
import { HooklineError } from "../core/errors.ts";
import { checkOptions, is } from "../core/options.ts";
import { chunksOf, firstLine, makeDirectory, nodeFs, replaceFile, setAside, type Fs } from "./append-file-lines.ts";
import { AppendFile } from "./append-file.ts";
import type { LogRecord, RunFacts } from "./backend.ts";
import { splitRow, textCell } from "./csv-cells.ts";
import { directoryOf, type FileBackend } from "./jsonl.ts";
import { FIELDS, keyOf } from "./jsonl-lines.ts";

export interface CsvOptions {
  /** Default: the trainer's `runDir`. */
  readonly dir?: string;
  readonly name?: string;
}

const CHECKS = { dir: is.name, name: is.name };

/** Records wait until there are this many, or a flush: those who log first name most of the columns. */
const MOST_WAITING = 500;
/** A new column means a new file: names that never end must not make one at every step. */
const MOST_COLUMNS = 1000;

/**
 * Writes every record as a row of `<runDir>/metrics.csv`: numbers and texts. When a new metric appears, the table is
 * written anew with one more column. A run that goes on from a checkpoint goes on in the same file.
 * @example csv()
 */
export function csv(options: CsvOptions = {}): FileBackend {
  checkOptions("csv", options, CHECKS);
  const { name = "csv" } = options;
  let table: Table | undefined;

  async function closeTable(): Promise<void> {
    const last = table;
    table = undefined;
    await last?.close();
  }

  return {
    name,
    async open(run) {
      await closeTable();
      table = new Table(name, directoryOf(name, options.dir ?? run.dir), run);
    },
    log: (record) => table?.add(record),
    flush: async () => table?.flush(),
    flushSync: () => table?.flushSync(),
    close: closeTable,
  };
}

class Table {
  readonly #owner: string;
  readonly #fs: Fs;
  readonly #path: string;
  /** The header's cells as they are written, each with its place. */
  readonly #columns = new Map<string, number>();
  /** Cells of names, each made once. */
  readonly #cells = new Map<string, string>();
  #file: AppendFile;
  #waiting: LogRecord[] = [];
  readonly #leftOut = new Set<string>();

  constructor(owner: string, dir: string, { resumedAt }: RunFacts) {
    this.#owner = owner;
    this.#fs = nodeFs(owner);
    this.#path = `${dir}/metrics.csv`;
    makeDirectory(this.#fs, dir);
    const { text, isWhole } = firstLine(this.#fs, this.#path);
    const isOurs = isWhole && text.startsWith(`${FIELDS.join()}`);
    if (resumedAt === undefined || !isOurs) setAside(this.#fs, this.#path);
    this.#file = AppendFile.open(owner, this.#path);
    this.#file.truncateAfter((line) => line === text || Number.parseFloat(line) <= (resumedAt ?? 0));
    const header = this.#file.size > 0 ? splitRow(text) : FIELDS;
    for (const cell of header) this.#columns.set(cell, this.#columns.size);
    // What is wrong with the disk shows before the first step.
    if (this.#file.size === 0) this.#file.append(this.#header());
    this.#file.flushSync();
  }

  add(record: LogRecord): void {
    // Images would keep their pixels in memory meanwhile.
    this.#waiting.push({ ...record, media: textsOf(record) });
    if (this.#waiting.length >= MOST_WAITING) this.#drain();
  }

  async flush(): Promise<void> {
    this.#drain();
    await this.#file.flush();
    this.#reportLeftOut();
  }

  flushSync(): void {
    this.#drain();
    this.#file.flushSync();
  }

  async close(): Promise<void> {
    try {
      this.#drain();
    } finally {
      await this.#file.close();
    }
    this.#reportLeftOut();
  }

  #header(): string {
    return `${[...this.#columns.keys()].join()}\n`;
  }

  /** Rows of what waits, in a table that has all their columns. */
  #drain(): void {
    const before = this.#columns.size;
    for (const { scalars, media } of this.#waiting) {
      for (const name of Object.keys(scalars)) this.#addColumn(name);
      for (const name of Object.keys(media)) this.#addColumn(name);
    }
    if (this.#columns.size > before) this.#widen(this.#columns.size - before);
    const records = this.#waiting;
    this.#waiting = [];
    let rows = "";
    for (const record of records) rows += this.#row(record);
    this.#file.append(rows);
  }
}
