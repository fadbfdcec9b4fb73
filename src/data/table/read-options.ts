// The options with which tables are read, and their checks. Apart from the readers, which a config loads only when it reads.
import { type Check, is } from "../../core/options.ts";
import { COLUMN_TYPES, type Schema } from "./column.ts";
import type { Rest } from "./schema.ts";

/** The formats of tables. */
export type TableFormat = "csv" | "tsv" | "jsonl" | "parquet" | "arrow";

/** Options of `readTable`. */
export interface ReadTableOptions {
  /** Default: by the ending of the file's name; `csv` for a text or a stream. */
  readonly format?: TableFormat;
  /** Types by column. The file must have these columns. Default: types are inferred from the first rows. */
  readonly columns?: Schema;
  /**
   * Columns that `columns` does not name are inferred (the default), strings, or skipped. `readable` skips those of
   * Parquet and Arrow that a table cannot hold (lists, structures, bytes), and infers the others.
   */
  readonly rest?: Rest;
  /** The number of first rows that types are inferred from. Default 10,000. */
  readonly inferRows?: number;
  /** CSV and TSV: cells that count as missing. Default: empty, NA, N/A, n/a, #N/A, <NA>, NaN, nan, null, NULL and None. */
  readonly missing?: readonly string[];
  /** CSV: what is between cells. Default `,`, and a tab in TSV. */
  readonly separator?: string;
  /** CSV and TSV: the first row has the names of the columns. Default true; without, they are `column1`, `column2`, … */
  readonly header?: boolean;
  /** CSV and TSV: names in place of those in the file. */
  readonly names?: readonly string[];
  /** CSV and TSV: accepts rows of any length: missing cells count as missing, additional ones are left out. Default false. */
  readonly ragged?: boolean;
  /** Text formats: a label of TextDecoder such as `windows-1252`. Default UTF-8, and UTF-16 where a byte order mark says so. */
  readonly encoding?: string;
}

/** Options of `readChunks`. */
export interface ReadChunksOptions extends ReadTableOptions {
  /** Rows of a table; the last has the rest, and in Parquet and Arrow the last of each row group or record batch. Default 10,000. */
  readonly chunkRows?: number;
}

const isColumnType = is.oneOf(...COLUMN_TYPES);

const isSchema: Check = {
  expected: `an object from columns to ${isColumnType.expected}`,
  schema: { type: "object", additionalProperties: isColumnType.schema! },
  test: (value) => is.object.test(value) && Object.values(value as object).every(isColumnType.test),
};

const isSeparator: Check = {
  expected: "a text without quotes and line breaks",
  schema: { type: "string", pattern: '^[^"\\r\\n]+$' },
  test: (value) => typeof value === "string" && /^[^"\r\n]+$/.test(value),
};

export const FORMATS: readonly TableFormat[] = ["csv", "tsv", "jsonl", "parquet", "arrow"];

/** The checks of the options of `readTable`; a config has the same. */
export const READ_TABLE_CHECKS = {
  format: is.oneOf(...FORMATS),
  columns: isSchema,
  rest: is.oneOf("infer", "readable", "string", "skip"),
  inferRows: is.wholeFrom(1),
  missing: is.arrayOf(is.string),
  separator: isSeparator,
  header: is.boolean,
  names: is.arrayOf(is.name),
  ragged: is.boolean,
  encoding: is.name,
} satisfies Record<keyof ReadTableOptions, Check>;
