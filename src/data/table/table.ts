// A table: columns of the same length, by name.
import type { TypedArray } from "../../core/arrays.ts";
import { DataError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { is, show } from "../../core/options.ts";
import {
  type Cell,
  type Column,
  COLUMN_TYPES,
  type ColumnType,
  NO_BOOLEAN,
  NO_STRING,
  type Schema,
  cellAt,
  lengthOf,
  withValues,
} from "./column.ts";
import { columnOf, inferType, ValueColumn } from "./values.ts";

/** A column, or what becomes one: an array of cells, or numbers. */
export type ColumnInput = Column | TypedArray | readonly (Cell | undefined)[];

/**
 * Columns of the same length by name: what files are read into, what is split, and what a Preprocessor makes arrays of.
 * @example const table = Table.fromRows([{ age: 31, plan: "basic" }, { age: null, plan: "pro" }]);
 */
export class Table {
  readonly columns: Readonly<Record<string, Column>>;
  readonly rowCount: number;
  /** Where the rows come from, for messages: the name of the file, or `table`. */
  readonly source: string;
  /** The line of the file at which each row begins. */
  readonly #lines: Uint32Array | undefined;

  private constructor(
    columns: Readonly<Record<string, Column>>,
    rowCount: number,
    source: string,
    lines: Uint32Array | undefined,
  ) {
    this.columns = columns;
    this.rowCount = rowCount;
    this.source = source;
    this.#lines = lines;
  }

  /**
   * From columns, arrays of cells or typed arrays. The schema says what type arrays have; default: that of their values.
   * @example Table.fromColumns({ age: [31, null], plan: ["basic", "pro"] })
   */
  static fromColumns(
    columns: Readonly<Record<string, ColumnInput>>,
    schema: Schema = {},
    source = "table",
    lines?: Uint32Array,
  ): Table {
    const entries = Object.entries(columns);
    if (entries.length === 0) throw new DataError(`Table: ${source} has no columns.`);
    const made = Object.fromEntries(
      entries.map(([name, given]) => [
        name,
        isColumn(given) ? checked(name, given) : columnOf(given, typeIn(schema, name), name),
      ]),
    );
    checkSchema(source, schema, made);
    const [first] = Object.keys(made);
    const rowCount = lengthOf(made[first!]!);
    for (const [name, column] of Object.entries(made)) {
      const length = lengthOf(column);
      if (length !== rowCount)
        throw new DataError(`Table: \`${first}\` has ${rowCount} rows but \`${name}\` has ${length}.`);
    }
    return new Table(made, rowCount, source, lines);
  }

  /**
   * From objects. With a schema, every row must have its columns, with null for what is missing, and other keys are left
   * out; without, the columns are the keys that any row has.
   * @example Table.fromRows([{ age: 31 }, { age: null }], { age: "number" })
   */
  static fromRows(rows: readonly object[], schema?: Schema, source = "table"): Table {
    const what = (name: string) => (row: number) => `row ${row} of ${source}: \`${name}\``;
    for (const [row, value] of rows.entries()) checkRow(value, row, schema, source);
    const given = rows as readonly Readonly<Record<string, unknown>>[];
    const names = schema ? Object.keys(schema) : [...new Set(given.flatMap((row) => Object.keys(row)))];
    const columns = names.map((name): [string, Column] => {
      const values = given.map((row) => (Object.hasOwn(row, name) ? row[name] : undefined));
      const column = new ValueColumn(schema?.[name] ?? inferType(values, what(name)), rows.length, what(name));
      for (const [row, value] of values.entries()) column.set(row, value);
      return [name, column.finish(rows.length)];
    });
    return Table.fromColumns(Object.fromEntries(columns), schema, source);
  }

  /** The types of the columns. */
  get schema(): Schema {
    return Object.fromEntries(Object.entries(this.columns).map(([name, { type }]) => [name, type]));
  }

  /** The column of this name; an error that lists the columns where there is none. */
  column(name: string): Column {
    if (Object.hasOwn(this.columns, name)) return this.columns[name]!;
    const names = Object.keys(this.columns);
    throw new DataError(
      `${this.source} has no column \`${name}\`.${didYouMean(name, names)} Its columns: ${names.join(", ")}.`,
    );
  }

  /** The rows with these numbers, in this order. */
  take(rows: Uint32Array): Table {
    const beyond = rows.find((row) => row >= this.rowCount);
    if (beyond !== undefined)
      throw new DataError(`Table: ${this.source} has ${this.rowCount} rows, and no row ${beyond}.`);
    return this.#with(rows.length, (values) => {
      const taken = new (values.constructor as new (length: number) => typeof values)(rows.length);
      for (let i = 0; i < rows.length; i++) taken[i] = values[rows[i]!]!;
      return taken;
    });
  }

  /** The rows from `from` up to, but not including, `to`. Shares memory with this table. */
  slice(from: number, to: number = this.rowCount): Table {
    const end = Math.max(from, Math.min(to, this.rowCount));
    return this.#with(end - from, (values) => values.subarray(from, end) as typeof values);
  }

  #with(
    rowCount: number,
    change: <T extends Float64Array | Uint8Array | Int32Array | Uint32Array>(values: T) => T,
  ): Table {
    const columns = Object.entries(this.columns).map(([name, column]) => [name, withValues(column, change)] as const);
    return new Table(Object.fromEntries(columns), rowCount, this.source, this.#lines && change(this.#lines));
  }

  /** One row as an object; null is missing. */
  row(row: number): Record<string, Cell> {
    return Object.fromEntries(Object.entries(this.columns).map(([name, column]) => [name, cellAt(column, row)]));
  }

  /** The line of the file at which a row begins, from 1; the row's number, from 0, where the table is not of a file with lines. */
  lineOf(row: number): number {
    return this.#lines?.[row] ?? row;
  }

  /** Names a row in messages: `customers.csv:17`, or `row 16 of table`. */
  where(row: number): string {
    return this.#lines ? `${this.source}:${this.lineOf(row)}` : `row ${row} of ${this.source}`;
  }
}

/** The declared type, if any: a column may have the name of a method of every object, such as `constructor`. */
const typeIn = (schema: Schema, name: string): ColumnType | undefined =>
  Object.hasOwn(schema, name) ? schema[name] : undefined;

const isColumn = (value: ColumnInput): value is Column =>
  is.object.test(value) && COLUMN_TYPES.includes((value as Column).type);

const ARRAYS = { number: Float64Array, date: Float64Array, boolean: Uint8Array, string: Int32Array } as const;

/** A column that a user made: a code beyond its names would be another string, or none, much later. */
function checked(name: string, column: Column): Column {
  const values: unknown = column.type === "string" ? column.codes : column.values;
  const Values = ARRAYS[column.type];
  if (!(values instanceof Values))
    throw new DataError(`Table: expected \`${name}\` (${column.type}) to have a ${Values.name}, got ${show(values)}.`);
  if (column.type === "string") {
    const { names, codes } = column;
    const bad = codes.findIndex((code) => code < NO_STRING || code >= names.length);
    if (bad >= 0)
      throw new DataError(
        `Table: \`${name}\` of row ${bad} has the code ${codes[bad]}, but there are ${names.length} names.`,
      );
  } else if (column.type === "boolean") {
    const bad = column.values.findIndex((value) => value > 1 && value !== NO_BOOLEAN);
    if (bad >= 0)
      throw new DataError(`Table: \`${name}\` of row ${bad} is ${column.values[bad]}. Expected 0, 1 or 255 (missing).`);
  }
  return column;
}

function checkSchema(source: string, schema: Schema, columns: Readonly<Record<string, Column>>): void {
  for (const [name, type] of Object.entries(schema)) {
    const column = Object.hasOwn(columns, name) ? columns[name]! : undefined;
    if (column === undefined) {
      const names = Object.keys(columns);
      throw new DataError(
        `${source} has no column \`${name}\`.${didYouMean(name, names)} Its columns: ${names.join(", ")}.`,
      );
    }
    if (column.type !== type)
      throw new DataError(`${source}: \`${name}\` is a ${column.type} column, and ${type} is expected.`);
  }
}

function checkRow(row: unknown, number: number, schema: Schema | undefined, source: string): void {
  if (!is.object.test(row))
    throw new DataError(`row ${number} of ${source}: expected an object such as { age: 31 }, got ${show(row)}.`);
  for (const name of Object.keys(schema ?? {})) {
    if (Object.hasOwn(row as object, name)) continue;
    const keys = Object.keys(row as object);
    throw new DataError(
      `row ${number} of ${source} has no \`${name}\`.${didYouMean(name, keys)} Its keys: ${keys.join(", ") || "none"}. A missing value is null.`,
    );
  }
}
