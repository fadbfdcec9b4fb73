// Reads files into tables: at once, or in chunks for files larger than memory.
import { DataError, OptionError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { checkOptions, is } from "../../core/options.ts";
import { MISSING } from "./cells.ts";
import { csvTables } from "./csv.ts";
import { type OpenFile, openFile, type TableFile } from "./file.ts";
import { jsonLineTables } from "./json-lines.ts";
import {
  FORMATS,
  READ_TABLE_CHECKS,
  type ReadChunksOptions,
  type ReadTableOptions,
  type TableFormat,
} from "./read-options.ts";
import type { ReadSettings } from "./schema.ts";
import type { Table } from "./table.ts";
import { utf8Blocks } from "./text-blocks.ts";

const ENDINGS: Readonly<Record<string, TableFormat>> = {
  csv: "csv",
  tsv: "tsv",
  tab: "tsv",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
  arrow: "arrow",
  feather: "arrow",
  ipc: "arrow",
};

const CSV_OPTIONS = ["missing", "separator", "header", "names", "ragged"] as const;

/**
 * Reads a table from a file: CSV, TSV, JSON lines, Parquet (with the package hyparquet) or Arrow (apache-arrow).
 * @example const table = await readTable("customers.csv", { columns: { zip: "string" } });
 */
export async function readTable(file: TableFile, options: ReadTableOptions = {}): Promise<Table> {
  checkOptions("readTable", options, READ_TABLE_CHECKS);
  const opened = openFile("readTable", file);
  try {
    for await (const table of tablesOf("readTable", opened, options, Infinity)) return table;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new DataError(`${opened.name} does not fit into memory (${cause.message}). Read it in parts: readChunks.`, {
      cause,
    });
  }
  throw new DataError(`${opened.name} is empty.`);
}

/**
 * Reads a file of any size in tables of `chunkRows` rows: memory does not grow with the file. Iterating again reads it
 * again.
 * @example for await (const table of readChunks("events.csv", { columns: { price: "number" } })) count += table.rowCount;
 */
export function readChunks(file: TableFile, options: ReadChunksOptions = {}): AsyncIterable<Table> {
  checkOptions("readChunks", options, { ...READ_TABLE_CHECKS, chunkRows: is.wholeFrom(1) });
  const { chunkRows = 10_000, ...rest } = options;
  const opened = openFile("readChunks", file);
  formatOf("readChunks", opened, rest);
  return { [Symbol.asyncIterator]: () => tablesOf("readChunks", opened, rest, chunkRows) };
}

async function* tablesOf(
  owner: string,
  file: OpenFile,
  options: ReadTableOptions,
  chunkRows: number,
): AsyncGenerator<Table> {
  const format = formatOf(owner, file, options);
  const { columns = {}, rest = "infer", inferRows = 10_000 } = options;
  const settings: ReadSettings = { source: file.name, columns, rest, inferRows, chunkRows };
  const text = (): AsyncIterable<Uint8Array> => utf8Blocks(file.blocks(), file.name, options.encoding);
  if (format === "parquet") yield* (await import("./parquet.ts")).parquetTables(file, settings);
  else if (format === "arrow") yield* (await import("./arrow.ts")).arrowTables(file, settings);
  else if (format === "jsonl") yield* jsonLineTables(text(), settings);
  else {
    const { missing = MISSING, header = true, names, ragged = false } = options;
    const { separator = format === "tsv" ? "\t" : "," } = options;
    yield* csvTables(text(), { ...settings, missing, header, names, ragged, separator });
  }
}

function formatOf(owner: string, { name }: OpenFile, options: ReadTableOptions): TableFormat {
  const format = options.format ?? formatByName(owner, name);
  if (format === "csv" || format === "tsv") return format;
  const wrong = CSV_OPTIONS.find((option) => options[option] !== undefined);
  if (wrong !== undefined)
    throw new OptionError(`${owner}: \`${wrong}\` is for CSV, and ${name} is read as ${format}.`, { option: wrong });
  return format;
}

function formatByName(owner: string, name: string): TableFormat {
  const isAddress = /^\w+:\/\//.test(name);
  const path = (isAddress ? name.replace(/[?#].*$/, "") : name).replace(/\.gz$/i, "");
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase();
  if (ending === undefined && /^(?:text|stream|blob|response|data)$|:/.test(name)) return "csv";
  const format = ending !== undefined && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
  if (format) return format;
  const near = ending === undefined ? "" : didYouMean(ending, Object.keys(ENDINGS));
  throw new OptionError(
    `${owner}: ${name} does not end in that of a format (${Object.keys(ENDINGS)
      .map((each) => `.${each}`)
      .join(", ")}).${near} Give \`format\`: ${FORMATS.join(", ")}.`,
    { option: "format" },
  );
}
