// From JavaScript values (rows of objects, JSON, arrays) to columns. Strict: a string is never taken for a number.
import { DataError } from "../../core/errors.ts";
import { isTypedArray } from "../../core/arrays.ts";
import { show } from "../../core/options.ts";
import { type Column, type ColumnType, EXPECTED, NO_BOOLEAN, NO_STRING } from "./column.ts";
import { dateOf } from "./dates.ts";
import { longer } from "./column.ts";

/** An empty text is missing here as it is in a CSV file: a row must mean the same in training and in a request. */
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (typeof value === "number" && Number.isNaN(value));

/** The type of column that holds this value, or undefined for one that fits none: an object, an array. */
export function typeOfValue(value: unknown): ColumnType | undefined {
  if (typeof value === "number" || typeof value === "bigint") return "number";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "string") return "string";
  return value instanceof Date ? "date" : undefined;
}

/** Names a value in messages: "row 3 of orders.jsonl: `price`". */
type NameValue = (row: number) => string;

/** A growing column of JavaScript values. */
export class ValueColumn {
  readonly type: ColumnType;
  readonly #what: NameValue;
  /** What to do about a value that does not fit. */
  readonly #advice: string;
  #values: Float64Array | Uint8Array | Int32Array;
  readonly #codes = new Map<string, number>();

  constructor(type: ColumnType, capacity: number, what: NameValue, advice = "") {
    this.type = type;
    this.#what = what;
    this.#advice = advice;
    this.#values =
      type === "string" ? new Int32Array(capacity) : new (type === "boolean" ? Uint8Array : Float64Array)(capacity);
  }

  set(row: number, value: unknown): void {
    if (row >= this.#values.length) this.#values = longer(this.#values, Math.max(64, row * 2));
    this.#values[row] = isMissing(value) ? this.#missing() : this.#code(row, value);
  }

  #missing(): number {
    if (this.type === "string") return NO_STRING;
    return this.type === "boolean" ? NO_BOOLEAN : NaN;
  }

  #code(row: number, value: unknown): number {
    const { type } = this;
    if (type === "number" && typeof value === "number") return value;
    if (type === "string" && typeof value === "string") return this.#codeOf(value);
    if (type === "boolean" && typeof value === "boolean") return Number(value);
    const converted = type === "date" ? timeOf(value) : type === "number" ? wholeOf(value) : NaN;
    if (!Number.isNaN(converted)) return converted;
    throw new DataError(`${this.#what(row)} is ${show(value)}, and ${EXPECTED[type]} is expected.${this.#advice}`);
  }

  #codeOf(name: string): number {
    let code = this.#codes.get(name);
    if (code === undefined) this.#codes.set(name, (code = this.#codes.size));
    return code;
  }

  finish(rows: number): Column {
    const values = this.#values.slice(0, rows);
    if (this.type === "string") return { type: "string", codes: values as Int32Array, names: [...this.#codes.keys()] };
    if (this.type === "boolean") return { type: "boolean", values: values as Uint8Array };
    return { type: this.type, values: values as Float64Array };
  }
}

const timeOf = (value: unknown): number => {
  if (value instanceof Date) return value.getTime();
  return typeof value === "string" ? dateOf(value) : NaN;
};

/** A bigint that a number can hold. */
const wholeOf = (value: unknown): number =>
  typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : NaN;

/** The type of values that is not declared: that of all which are not missing. */
export function inferType(values: Iterable<unknown>, what: NameValue): ColumnType {
  let found: { type: ColumnType; row: number } | undefined;
  let row = 0;
  for (const value of values) {
    if (!isMissing(value)) {
      const type = typeOfValue(value);
      if (type === undefined)
        throw new DataError(`${what(row)} is ${show(value)}. A cell is a number, a string, a boolean, a Date or null.`);
      found ??= { type, row };
      if (type !== found.type)
        throw new DataError(
          `${what(row)} is a ${type}, but a ${found.type} in row ${found.row}. Give all the same type.`,
        );
    }
    row++;
  }
  return found?.type ?? "number";
}

/** A column of an array of cells, or of a typed array of numbers. */
export function columnOf(values: unknown, type: ColumnType | undefined, name: string): Column {
  if (isTypedArray(values)) {
    if (type === undefined || type === "number") return { type: "number", values: Float64Array.from(values) };
    return columnOf(Array.from(values), type, name);
  }
  if (!Array.isArray(values))
    throw new DataError(
      `Table: expected \`${name}\` to be a column, an array of cells or a typed array, got ${show(values)}.`,
    );
  const what = (row: number): string => `Table: \`${name}\` of row ${row}`;
  const column = new ValueColumn(type ?? inferType(values, what), values.length, what);
  for (const [row, value] of values.entries()) column.set(row, value);
  return column.finish(values.length);
}
