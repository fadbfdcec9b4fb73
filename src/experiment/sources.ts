// The built-in sources of data: CSV files and files of tensors.
import type { ArrayInput, TypedArray } from "../core/arrays.ts";
import { component } from "../core/component.ts";
import { DataError } from "../core/errors.ts";
import { type Check, is } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import type { Arrays } from "../data/source.ts";
import { builtin } from "../platform/builtin.ts";

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
 * Data from a CSV file: chosen columns, each with its type, as arrays by field.
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
    return async () => {
      const rows = csvRows(await textOf(file), separator);
      const names = header ? (rows.shift()?.cells ?? []) : fields.flatMap(({ of }) => of);
      return Object.fromEntries(
        fields.map(({ field, type, of, wide }): [string, ArrayInput] => {
          const places = of.map((name) => placeOf(file, names, name));
          const data = numbers(file, rows, { places, of, type });
          return [field, wide ? { data, shape: [rows.length, of.length] } : data];
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

async function textOf(file: string): Promise<string> {
  try {
    return await builtin("csv", "node:fs/promises").readFile(file, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why = code === "ENOENT" ? "there is no such file" : (cause as Error).message;
    throw new DataError(`csv: ${file}: ${why}.`, { cause });
  }
}

function placeOf(file: string, names: readonly string[], name: string): number {
  const place = names.indexOf(name);
  if (place >= 0) return place;
  throw new DataError(
    `csv: ${file} has no column \`${name}\`.${didYouMean(name, names)} Its first line has: ${names.join(", ")}.`,
  );
}

interface Wanted {
  readonly places: readonly number[];
  readonly of: readonly string[];
  readonly type: ColumnType;
}

function numbers(file: string, rows: readonly Row[], { places, of, type }: Wanted): TypedArray {
  const data = new TYPES[type](rows.length * places.length);
  let at = 0;
  for (const { cells, line } of rows) {
    for (const [i, place] of places.entries()) {
      const cell = cells[place]?.trim() ?? "";
      const value = Number(cell);
      data[at] = value;
      // A whole number that an array cannot hold becomes another one.
      const kept = type.startsWith("float") ? !Number.isNaN(value) : data[at] === value;
      if (cell === "" || !kept) {
        const what = cell === "" ? "is empty" : `is ${JSON.stringify(cell)}`;
        throw new DataError(`csv: ${file}:${line}: \`${of[i]}\` ${what}, and ${type} is expected.`);
      }
      at++;
    }
  }
  return data;
}

interface Row {
  readonly cells: readonly string[];
  /** From 1, for messages. */
  readonly line: number;
}

/** Empty lines are skipped. Cells that hold a separator, a quote or a line break are quoted. */
function csvRows(text: string, separator: string): Row[] {
  const clean = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (clean.includes('"')) return quotedRows(clean, separator);
  const rows: Row[] = [];
  for (const [i, line] of clean.split(/\r\n|\n|\r/).entries())
    if (line.trim() !== "") rows.push({ cells: line.split(separator), line: i + 1 });
  return rows;
}

function quotedRows(text: string, separator: string): Row[] {
  const rows: Row[] = [];
  let cells: string[] = [];
  let cell = "";
  let [line, began] = [1, 1];
  let quoted = false;
  const endRow = (): void => {
    cells.push(cell);
    if (cells.some((each) => each.trim() !== "")) rows.push({ cells, line: began });
    [cells, cell, began] = [[], "", line];
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "\n") line++;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else quoted = false;
    } else if (char === '"') quoted = true;
    else if (text.startsWith(separator, i)) {
      cells.push(cell);
      cell = "";
      i += separator.length - 1;
    } else if (char === "\n") endRow();
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || cells.length > 0) endRow();
  return rows;
}
