// The built-in sources of data: tables, CSV files of numbers alone, and files of tensors.
import type { ArrayInput, TypedArray } from "../core/arrays.ts";
import { component } from "../core/component.ts";
import { DataError } from "../core/errors.ts";
import { type Check, is } from "../core/options.ts";
import type { Arrays } from "../data/source.ts";
import { READ_TABLE_CHECKS, type ReadTableOptions } from "../data/table/read-options.ts";
import type { Table } from "../data/table/table.ts";

/** Loaded when data is read: a page that has its arrays does not download the readers. */
const readers = () => import("../data/table/read-table.ts");

/** Options of `table`. */
export interface TableSourceOptions extends ReadTableOptions {
  /** In a config: relative to the config, and inside its project. In code: relative to the working directory. */
  readonly file: string;
}

/**
 * A table from a file: CSV, TSV, JSON lines, Parquet or Arrow. `preprocess` makes arrays of it.
 * @example data: table({ file: "customers.csv", columns: { zip: "string" } })
 */
export const table = /* @__PURE__ */ component(
  {
    kind: "data",
    name: "table",
    takes: () => ({ options: { file: is.pathToRead, ...READ_TABLE_CHECKS }, required: ["file"] }),
  },
  (options: TableSourceOptions): (() => Promise<Table>) => {
    const { file, ...reading } = options;
    return async () => (await readers()).readTable(file, reading);
  },
);

const TYPES = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint32: Uint32Array } as const;

type ColumnType = keyof typeof TYPES;

/** The column of the field's name, or several columns side by side. */
type Column = ColumnType | { readonly of: readonly string[]; readonly as?: ColumnType };

/** Options of `csv`. */
export interface CsvSourceOptions {
  /** In a config: relative to the config, and inside its project. In code: relative to the working directory. */
  readonly file: string;
  /**
   * Fields and their columns: `rating: float32` is the column of that name, `x: { of: [width, height], as: float32 }`
   * several as one array of two dimensions. Other columns are left out.
   */
  readonly columns: Readonly<Record<string, Column>>;
  /** The first line has the names. Default true; without, columns are in the order in which they are written here. */
  readonly header?: boolean;
  /** Between the cells: `","` by default, `"\t"`, `"::"`. */
  readonly separator?: string;
}

const isType = is.oneOf(...Object.keys(TYPES));

const isColumn = (value: unknown): boolean => {
  if (isType.test(value)) return true;
  const { of, as = "float32", ...more } = { ...(value as { of?: unknown; as?: unknown } | null) };
  const names = is.arrayOf(is.name).test(of) && (of as readonly string[]).length > 0;
  return names && isType.test(as) && Object.keys(more).length === 0;
};

const columnsCheck: Check = {
  expected: `an object from fields to ${isType.expected}, or to { of: [columns], as: type }`,
  schema: {
    type: "object",
    minProperties: 1,
    additionalProperties: {
      anyOf: [
        isType.schema!,
        {
          type: "object",
          properties: { of: { type: "array", items: { type: "string" }, minItems: 1 }, as: isType.schema! },
          required: ["of"],
          additionalProperties: false,
        },
      ],
    },
  },
  test: (value) =>
    is.object.test(value) && Object.keys(value as object).length > 0 && Object.values(value as object).every(isColumn),
};

/**
 * Arrays by field from the columns of a CSV file that has numbers alone, without gaps. For anything else use `table`.
 * @example data: csv({ file: "ratings.csv", columns: { user: "int32", item: "int32", rating: "float32" } })
 */
export const csv = /* @__PURE__ */ component(
  {
    kind: "data",
    name: "csv",
    takes: () => ({
      options: { file: is.pathToRead, columns: columnsCheck, header: is.boolean, separator: is.name },
      required: ["file", "columns"],
    }),
  },
  (options: CsvSourceOptions): (() => Promise<Arrays>) => {
    const { file, columns, header = true, separator = "," } = options;
    const fields = Object.entries(columns).map(([field, column]) =>
      typeof column === "string"
        ? { field, type: column, of: [field], wide: false }
        : { field, type: column.as ?? "float32", of: column.of, wide: true },
    );
    const names = [...new Set(fields.flatMap(({ of }) => of))];
    return async () => {
      const { readTable } = await readers();
      const read = await readTable(file, {
        format: "csv",
        columns: Object.fromEntries(names.map((name) => [name, "number"])),
        rest: "skip",
        missing: [""],
        separator,
        header,
        ragged: true,
        ...(!header && { names }),
      });
      return Object.fromEntries(
        fields.map(({ field, type, of, wide }): [string, ArrayInput] => {
          const data = numbers(read, of, type);
          return [field, wide ? { data, shape: [read.rowCount, of.length] } : data];
        }),
      );
    };
  },
);

/** Options of `safetensors`. */
export interface SafetensorsOptions {
  /** In a config: relative to the config, and inside its project. In code: relative to the working directory. Its tensors are the fields, each with the samples in its first dimension. */
  readonly file: string;
}

/**
 * Data from a file of tensors: .safetensors, or another format of weights.
 * @example data: safetensors({ file: "digits.safetensors" })
 */
export const safetensors = /* @__PURE__ */ component(
  { kind: "data", name: "safetensors", takes: () => ({ options: { file: is.pathToRead }, required: ["file"] }) },
  (options: SafetensorsOptions): (() => Promise<Arrays>) => {
    return async () => {
      const { readWeights } = await import("../checkpoint/weights/read-weights.ts");
      return readWeights(options.file);
    };
  },
);

/** Columns side by side as one array. An empty cell, or a number that its type cannot hold, is an error. */
function numbers(read: Table, of: readonly string[], type: ColumnType): TypedArray {
  const data = new TYPES[type](read.rowCount * of.length);
  for (const [i, name] of of.entries()) {
    const { values } = read.column(name) as { readonly values: Float64Array };
    for (const [row, value] of values.entries()) {
      const at = row * of.length + i;
      data[at] = value;
      // A whole number that an array cannot hold becomes another one.
      if (type.startsWith("float") ? !Number.isNaN(value) : data[at] === value) continue;
      const what = Number.isNaN(value) ? "is empty" : `is "${value}"`;
      throw new DataError(`${read.where(row)}: \`${name}\` ${what}, and ${type} is expected.`);
    }
  }
  return data;
}
