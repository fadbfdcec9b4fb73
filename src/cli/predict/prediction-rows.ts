// Rows of a file with predictions beside them, as text: CSV, TSV or JSON lines.
import { isTypedArray, type TypedArray } from "../../core/arrays.ts";
import { UsageError } from "../errors.ts";
import type { PredictedColumn, PredictionColumns } from "../../predict/types.ts";
import type { Chunk } from "./original-rows.ts";

export type RowFormat = "csv" | "tsv" | "jsonl";

/** By the ending of a file's name. */
export const ROW_ENDINGS: Readonly<Record<string, RowFormat>> = {
  ".csv": "csv",
  ".tsv": "tsv",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
};

/** A column of the output that the model gives. */
interface Added {
  readonly name: string;
  readonly at: (row: number) => unknown;
}

export class PredictionText {
  readonly #format: RowFormat;
  /** The columns of a CSV or TSV file, once its header is written. */
  #header: readonly string[] | undefined;

  constructor(format: RowFormat) {
    this.#format = format;
  }

  /** The lines of a chunk, with the header before the first. */
  lines(chunk: Chunk, predictions: PredictionColumns): string {
    const { table, names, row } = chunk;
    const added = Object.entries(predictions).flatMap(([name, column]) => addedColumns(name, column));
    const twice = added.find(({ name }) => names.includes(name));
    if (twice)
      throw new UsageError(
        `${table.source} already has a column \`${twice.name}\`, which the prediction needs. Rename it.`,
      );
    const lines =
      this.#format === "jsonl" || this.#header ? [] : [this.#cells([...names, ...added.map((each) => each.name)])];
    const header = (this.#header ??= names);
    const late = this.#format === "jsonl" ? undefined : names.find((name) => !header.includes(name));
    if (late !== undefined)
      throw new UsageError(
        `${table.source}: \`${late}\` is not in the first rows, which make the header of the output. Write .jsonl instead.`,
      );
    for (let i = 0; i < table.rowCount; i++) {
      const own = row(i);
      const found = added.map(({ name, at }) => [name, at(i)] as const);
      lines.push(
        this.#format === "jsonl"
          ? JSON.stringify({ ...own, ...Object.fromEntries(found) })
          : this.#cells([...header.map((name) => valueIn(own, name)), ...found.map(([, value]) => value)]),
      );
    }
    return lines.map((line) => `${line}\n`).join("");
  }

  #cells(values: readonly unknown[]): string {
    const separator = this.#format === "tsv" ? "\t" : ",";
    return values.map((value) => cell(value, separator)).join(separator);
  }
}

const valueIn = (row: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(row, name) ? row[name] : null;

/** `predicted_churn` for a label or a value, `probability_yes` for each label. */
function addedColumns(name: string, column: PredictedColumn): Added[] {
  if (Array.isArray(column) || isTypedArray(column)) {
    const values = column as readonly string[] | TypedArray;
    return [{ name: `predicted_${name}`, at: (row) => values[row] }];
  }
  const named = Object.entries(column as Readonly<Record<string, TypedArray>>);
  return named.map(([label, values]) => ({ name: `probability_${label}`, at: (row) => values[row] }));
}

function cell(value: unknown, separator: string): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const isPlain = !/["\r\n]/.test(text) && !text.includes(separator) && text.trim() === text;
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}
