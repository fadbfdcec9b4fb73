// A growing column of a CSV file: cells are read from bytes straight into a typed array.
import { DataError } from "../../core/errors.ts";
import { ByteDictionary, textOf } from "./byte-dictionary.ts";
import { firstOf, lastOf, parseBoolean, parseNumber } from "./cells.ts";
import { type Column, type ColumnType, EXPECTED, longer, NO_BOOLEAN, NO_STRING } from "./column.ts";
import { parseDate } from "./dates.ts";

type Values = Float64Array | Uint8Array | Int32Array;

/** Characters of a cell in a message: a cell may have megabytes. */
const SHOWN = 60;

export class CsvColumn {
  readonly #name: string;
  readonly #type: ColumnType;
  /** What to do about a cell that does not fit. */
  readonly #advice: string;
  readonly #capacity: number;
  #values: Values;
  #dictionary = new ByteDictionary();

  constructor(name: string, type: ColumnType, advice: string, capacity: number) {
    this.#name = name;
    this.#type = type;
    this.#advice = advice;
    this.#capacity = capacity;
    this.#values = this.#room();
  }

  #room(): Values {
    if (this.#type === "string") return new Int32Array(this.#capacity);
    return this.#type === "boolean" ? new Uint8Array(this.#capacity) : new Float64Array(this.#capacity);
  }

  setMissing(row: number): void {
    this.#set(row, this.#type === "string" ? NO_STRING : this.#type === "boolean" ? NO_BOOLEAN : NaN);
  }

  /** Reads a cell that is not missing; false when it does not fit the type. */
  set(row: number, bytes: Uint8Array, start: number, end: number): boolean {
    const value = this.#parse(bytes, start, end);
    if (Number.isNaN(value)) return false;
    this.#set(row, value);
    return true;
  }

  #set(row: number, value: number): void {
    if (row >= this.#values.length) this.#values = longer(this.#values, Math.max(1024, this.#values.length * 2));
    this.#values[row] = value;
  }

  #parse(bytes: Uint8Array, from: number, to: number): number {
    if (this.#type === "string") return this.#dictionary.codeOf(bytes, from, to);
    const start = firstOf(bytes, from, to);
    const end = lastOf(bytes, from, to);
    if (this.#type === "number") return parseNumber(bytes, start, end);
    return this.#type === "date" ? parseDate(bytes, start, end) : parseBoolean(bytes, start, end);
  }

  /** The error about a cell that does not fit. */
  misfit(where: string, cell: Uint8Array): DataError {
    const text = textOf(cell, 0, cell.length);
    if (text === undefined) {
      return new DataError(
        `${where}: \`${this.#name}\` is not UTF-8. Give the file's \`encoding\`, such as "windows-1252".`,
      );
    }
    const short = text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}…` : text;
    const what = text === "" ? "is empty" : `is ${JSON.stringify(short)}`;
    return new DataError(
      `${where}: \`${this.#name}\` ${what}, and ${EXPECTED[this.#type]} is expected.${this.#advice}`,
    );
  }

  /** The column of the first `rows` rows; the next cells belong to another table. */
  finish(rows: number): Column {
    const values = this.#values.length === rows ? this.#values : this.#values.slice(0, rows);
    const { names } = this.#dictionary;
    this.#values = this.#room();
    this.#dictionary = new ByteDictionary();
    if (this.#type === "string") return { type: "string", codes: values as Int32Array, names };
    if (this.#type === "boolean") return { type: "boolean", values: values as Uint8Array };
    return { type: this.#type, values: values as Float64Array };
  }
}
