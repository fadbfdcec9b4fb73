// CSV and TSV: from bytes to tables. The types are declared, or come from the first rows of the file.
import { DataError } from "../../core/errors.ts";
import { textOf } from "./byte-dictionary.ts";
import { missingTest, TypeGuess } from "./cells.ts";
import { type Column, type ColumnType, longer } from "./column.ts";
import { CsvColumn } from "./csv-column.ts";
import { CsvRows } from "./csv-rows.ts";
import { checkDeclared, checkNames, DECLARE_IT, plannedType, type ReadSettings } from "./schema.ts";
import { Table } from "./table.ts";

/** How a CSV file is read. */
export interface CsvSettings extends ReadSettings {
  readonly missing: readonly string[];
  readonly separator: string;
  readonly header: boolean;
  readonly names: readonly string[] | undefined;
  readonly ragged: boolean;
}

/** Tables of up to `chunkRows` rows; at least one, which may have no rows. */
export async function* csvTables(blocks: AsyncIterable<Uint8Array>, settings: CsvSettings): AsyncGenerator<Table> {
  const input = blocks[Symbol.asyncIterator]();
  try {
    const head = await readHead(input, settings);
    const rows = new CsvRows(settings.source, settings.separator);
    for (const block of head.blocks) rows.push(block);
    if (head.ended) rows.end();
    if (settings.header) rows.next();
    const builder = new CsvTable(head, settings);
    let { ended } = head;
    let tables = 0;
    for (;;) {
      while (rows.next()) {
        builder.add(rows);
        if (builder.rowCount < settings.chunkRows) continue;
        yield builder.finish();
        tables++;
      }
      if (ended) break;
      const { value, done = false } = await input.next();
      ended = done;
      if (done) rows.end();
      else rows.push(value as Uint8Array);
    }
    if (builder.rowCount > 0 || tables === 0) yield builder.finish();
  } finally {
    await input.return?.();
  }
}

/** The first rows of a file, from which names and types are known. */
interface Head {
  readonly blocks: readonly Uint8Array[];
  readonly ended: boolean;
  readonly names: readonly string[];
  readonly types: readonly (ColumnType | "skip")[];
}

async function readHead(input: AsyncIterator<Uint8Array>, settings: CsvSettings): Promise<Head> {
  const { source, separator, header, inferRows } = settings;
  const rows = new CsvRows(source, separator);
  const isMissing = missingTest(settings.missing);
  const blocks: Uint8Array[] = [];
  let names: readonly string[] | undefined;
  let guesses: (TypeGuess | undefined)[] = [];
  let [ended, seen] = [false, 0];
  const isKnown = (): boolean => names !== undefined && (seen >= inferRows || guesses.every((each) => !each));
  while (!ended && !isKnown()) {
    const { value, done = false } = await input.next();
    ended = done;
    if (done) rows.end();
    else {
      blocks.push(value as Uint8Array);
      rows.push(value as Uint8Array);
    }
    while (!isKnown() && rows.next()) {
      if (!names) {
        names = namesOf(rows, settings);
        guesses = names.map((name) => (plannedType(name, settings) === "infer" ? new TypeGuess() : undefined));
        if (header) continue;
      }
      seen++;
      for (const [i, guess] of guesses.entries()) {
        if (!guess || i >= rows.count) continue;
        const [bytes, start, end] = [rows.bytesOf(i), rows.starts[i]!, rows.ends[i]!];
        if (!isMissing(bytes, start, end)) guess.add(bytes, start, end);
      }
    }
  }
  if (!names)
    throw new DataError(`${source} is empty: it has ${header ? "no line with the names of columns" : "no rows"}.`);
  const types = names.map((name, i) => guesses[i]?.type ?? (plannedType(name, settings) as ColumnType | "skip"));
  return { blocks, ended, names, types };
}

/** The names of the columns, judged by the first row. */
function namesOf(rows: CsvRows, settings: CsvSettings): readonly string[] {
  const { source, header, names } = settings;
  const found = Array.from({ length: rows.count }, (_, i) => {
    const text = header ? textOf(rows.bytesOf(i), rows.starts[i]!, rows.ends[i]!) : "";
    if (text === undefined)
      throw new DataError(
        `${source}:${rows.line}: the name of column ${i + 1} is not UTF-8. Give the file's \`encoding\`.`,
      );
    // Tools leave the name of an index column out.
    return text === "" ? `column${i + 1}` : text;
  });
  if (names && names.length !== found.length && !settings.ragged) {
    throw new DataError(`${source}: \`names\` has ${names.length} names, but the file has ${found.length} columns.`);
  }
  const all = names ?? found;
  checkNames(all, settings);
  checkDeclared(all, settings);
  return all;
}

/** Rows of cells, collected into a table. */
class CsvTable {
  rowCount = 0;
  readonly #settings: CsvSettings;
  readonly #isMissing: ReturnType<typeof missingTest>;
  readonly #names: readonly string[];
  readonly #columns: readonly (CsvColumn | undefined)[];
  readonly #capacity: number;
  #lines: Uint32Array;

  constructor({ names, types }: Head, settings: CsvSettings) {
    const { columns, chunkRows, missing, inferRows } = settings;
    this.#settings = settings;
    this.#isMissing = missingTest(missing);
    this.#names = names;
    this.#capacity = Number.isFinite(chunkRows) ? chunkRows : 1024;
    this.#lines = new Uint32Array(this.#capacity);
    this.#columns = names.map((name, i) => {
      const type = types[i]!;
      const advice = Object.hasOwn(columns, name) ? "" : DECLARE_IT(name, inferRows);
      return type === "skip" ? undefined : new CsvColumn(name, type, advice, this.#capacity);
    });
  }

  add(rows: CsvRows): void {
    const row = this.rowCount;
    const columns = this.#columns;
    if (rows.count !== columns.length) this.#checkCount(rows);
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      if (!column) continue;
      const bytes = rows.bytesOf(i);
      const start = rows.starts[i]!;
      const end = rows.ends[i]!;
      if (i >= rows.count || this.#isMissing(bytes, start, end)) column.setMissing(row);
      else if (!column.set(row, bytes, start, end))
        throw column.misfit(`${this.#settings.source}:${rows.line}`, bytes.subarray(start, end));
    }
    if (row === this.#lines.length) this.#lines = longer(this.#lines, row * 2);
    this.#lines[row] = rows.line;
    this.rowCount++;
  }

  #checkCount(rows: CsvRows): void {
    if (this.#settings.ragged) return;
    const [has, expected] = [rows.count, this.#columns.length];
    const cells = has === 1 ? "cell" : "cells";
    const why = has > expected ? "Is a separator inside a cell not quoted" : "Is the row truncated";
    throw new DataError(
      `${this.#settings.source}:${rows.line}: this row has ${has} ${cells}, but there are ${expected} columns. ${why}? With ragged: true, what is missing counts as missing and what is too much is left out.`,
    );
  }

  finish(): Table {
    const { source } = this.#settings;
    const rowCount = this.rowCount;
    const made: [string, Column][] = [];
    for (const [i, column] of this.#columns.entries())
      if (column) made.push([this.#names[i]!, column.finish(rowCount)]);
    const lines = this.#lines.slice(0, rowCount);
    this.#lines = new Uint32Array(this.#capacity);
    this.rowCount = 0;
    return Table.fromColumns(Object.fromEntries(made), {}, source, lines);
  }
}
