// The columns of a table: typed arrays, with a value of their own for what is missing.

/**
 * A column, one value for each row. Missing are: NaN in numbers and dates, 255 in booleans, −1 in the codes of strings.
 * Dates are milliseconds since 1970, UTC. A string is a code into `names`, which may have names that no row uses.
 */
export type Column =
  | { readonly type: "number"; readonly values: Float64Array }
  | { readonly type: "boolean"; readonly values: Uint8Array }
  | { readonly type: "date"; readonly values: Float64Array }
  | { readonly type: "string"; readonly codes: Int32Array; readonly names: readonly string[] };

/** The type of a column. */
export type ColumnType = Column["type"];

/** The types of columns by name. */
export type Schema = Readonly<Record<string, ColumnType>>;

/** One value of a table as plain JavaScript; null is missing. */
export type Cell = number | string | boolean | Date | null;

export const COLUMN_TYPES: readonly ColumnType[] = ["number", "boolean", "date", "string"];

/** A column of each type as a phrase in a message: "and a number is expected". */
export const EXPECTED: Readonly<Record<ColumnType, string>> = {
  number: "a number",
  boolean: "true or false",
  date: "an ISO 8601 date such as 2024-05-31 or 2024-05-31T12:00:00Z",
  string: "a string",
};

/** The code of a missing boolean. */
export const NO_BOOLEAN = 255;

/** The code of a missing string. */
export const NO_STRING = -1;

export const lengthOf = (column: Column): number =>
  column.type === "string" ? column.codes.length : column.values.length;

/** A column of the same type whose typed array is another one. */
export function withValues(
  column: Column,
  change: <T extends Float64Array | Uint8Array | Int32Array>(of: T) => T,
): Column {
  if (column.type === "string") return { ...column, codes: change(column.codes) };
  if (column.type === "boolean") return { ...column, values: change(column.values) };
  return { ...column, values: change(column.values) };
}

export function cellAt(column: Column, row: number): Cell {
  if (column.type === "string") return column.names[column.codes[row]!] ?? null;
  const value = column.values[row]!;
  if (column.type === "boolean") return value === NO_BOOLEAN ? null : value === 1;
  if (Number.isNaN(value)) return null;
  return column.type === "date" ? new Date(value) : value;
}

/** Is it a table? By its form, so that a loader, which only asks, does not depend on the class. */
export const isTableLike = (value: object): boolean => "columns" in value && "rowCount" in value && "lineOf" in value;

/** The same values with room for more. */
export function longer<T extends Float64Array | Uint8Array | Int32Array | Uint32Array>(values: T, length: number): T {
  const copy = new (values.constructor as new (length: number) => T)(length);
  copy.set(values);
  return copy;
}
