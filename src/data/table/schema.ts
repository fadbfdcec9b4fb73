// Which columns of a file are read, and with which types: the part that all formats share.
import { DataError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import type { ColumnType, Schema } from "./column.ts";

/** What becomes of columns without a declared type. */
export type Rest = "infer" | "readable" | "string" | "skip";

/** How a file is read, whatever its format. */
export interface ReadSettings {
  /** The name of the file, for messages. */
  readonly source: string;
  /** Declared types. */
  readonly columns: Schema;
  readonly rest: Rest;
  readonly inferRows: number;
  /** Rows of a table; infinite for the whole file. */
  readonly chunkRows: number;
}

/** What is known of a column before its values are: its type, that it is inferred, or that it is not read. */
export function plannedType(name: string, { columns, rest }: ReadSettings): ColumnType | "infer" | "skip" {
  if (Object.hasOwn(columns, name)) return columns[name]!;
  return rest === "readable" ? "infer" : rest;
}

/** Every declared column must be there. */
export function checkDeclared(names: readonly string[], { columns, source }: ReadSettings): void {
  const absent = Object.keys(columns).find((name) => !names.includes(name));
  if (absent === undefined) return;
  throw new DataError(
    `${source} has no column \`${absent}\`.${didYouMean(absent, names)} Its columns: ${names.join(", ")}.`,
  );
}

/** Columns that are read have names of their own. */
export function checkNames(names: readonly string[], settings: ReadSettings): void {
  const { source } = settings;
  const second = names.findIndex((name, i) => names.indexOf(name) !== i && plannedType(name, settings) !== "skip");
  if (second < 0) return;
  const name = names[second]!;
  throw new DataError(
    `${source}: columns ${names.indexOf(name) + 1} and ${second + 1} are both called \`${name}\`. Rename one, or give all names with \`names\`.`,
  );
}

/** The way out where a cell does not fit a type that nobody declared. */
export const DECLARE_IT = (name: string, inferRows: number): string =>
  ` The type is inferred from the first ${inferRows} rows: declare another, columns: { ${JSON.stringify(name)}: "string" }, or correct the file.`;
