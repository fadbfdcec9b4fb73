// The rows of a table file as they are in the file, chunk by chunk, so that predictions can be written beside them: the
// text of a CSV file's cells, the values of JSON lines, and what Parquet and Arrow files contain, except
// lists, structures and bytes.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { readChunks } from "../../data/table/read-table.ts";
import type { Schema } from "../../data/table/column.ts";
import type { Table } from "../../data/table/table.ts";

/** A chunk of rows twice: typed for the model, and as the file has them. */
export interface Chunk {
  readonly table: Table;
  /** The names of the columns that its rows have. */
  readonly names: readonly string[];
  /** A row's values by name: text, or what JSON can hold. */
  readonly row: (i: number) => Readonly<Record<string, unknown>>;
}

/** Reads a file with these columns typed. `chunkRows` rows are in memory at a time. */
export async function* originalRows(file: string, columns: Schema, chunkRows: number): AsyncGenerator<Chunk> {
  const typed = { columns, rest: "skip", chunkRows } as const;
  if (/\.(?:csv|tsv|tab)$/i.test(file)) yield* textRows(file, typed);
  else if (/\.(?:jsonl|ndjson)$/i.test(file)) yield* jsonRows(file, typed);
  else
    for await (const table of readChunks(file, { columns, rest: "readable", chunkRows })) yield withCells(table, table);
}

type Typed = { readonly columns: Schema; readonly rest: "skip"; readonly chunkRows: number };

/** The file is read twice at the same time: numbers and dates, once parsed, would not be written as they were. */
async function* textRows(file: string, typed: Typed): AsyncGenerator<Chunk> {
  const texts = readChunks(file, { columns: {}, rest: "string", missing: [], chunkRows: typed.chunkRows });
  const originals = texts[Symbol.asyncIterator]();
  try {
    for await (const table of readChunks(file, typed)) {
      const { value, done } = await originals.next();
      if (done) return;
      yield withCells(table, value);
    }
  } finally {
    await originals.return?.();
  }
}

const withCells = (table: Table, original: Table): Chunk => ({
  table,
  names: Object.keys(original.columns),
  row: (i) => original.row(i),
});

/** Values of other columns may be of any kind, and keep it. Blank lines are no rows. */
async function* jsonRows(file: string, typed: Typed): AsyncGenerator<Chunk> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) return {};
      if (value.trim() !== "") return JSON.parse(value) as Record<string, unknown>;
    }
  };
  try {
    for await (const table of readChunks(file, typed)) {
      const rows: Record<string, unknown>[] = [];
      for (let i = 0; i < table.rowCount; i++) rows.push(await next());
      const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      yield { table, names, row: (i) => rows[i]! };
    }
  } finally {
    await lines.return?.();
  }
}
