// What Parquet and Arrow share: files that know the types of their columns, in batches of values.
import { DataError } from "../../core/errors.ts";
import type { ColumnType } from "./column.ts";
import { checkDeclared, checkNames, plannedType, type ReadSettings } from "./schema.ts";
import { Table } from "./table.ts";
import { ValueColumn } from "./values.ts";

/** A column of the file; `type` is undefined where a table cannot hold its values: lists, structures, bytes. */
export interface FileColumn {
  readonly name: string;
  readonly type: ColumnType | undefined;
  /** What the file calls the type. */
  readonly fileType: string;
}

/** Some rows of a file: writes the values of each column that is read. */
export interface Batch {
  readonly rows: number;
  fill(set: (column: string, row: number, value: unknown) => void): void | Promise<void>;
}

/** The columns that are read, and the types of the table's. */
export function chosenColumns(columns: readonly FileColumn[], settings: ReadSettings): ReadonlyMap<string, ColumnType> {
  const names = columns.map(({ name }) => name);
  checkNames(names, settings);
  checkDeclared(names, settings);
  const chosen = new Map<string, ColumnType>();
  for (const { name, type, fileType } of columns) {
    const planned = plannedType(name, settings);
    if (planned === "skip" || (planned === "infer" && type === undefined && settings.rest === "readable")) continue;
    const declared = planned === "infer" ? type : planned;
    if (type === undefined || declared === undefined) {
      throw new DataError(
        `${settings.source}: \`${name}\` is ${fileType}, which a table cannot hold. Leave it out with rest: "readable", or declare the columns to read: columns: { … }, rest: "skip".`,
      );
    }
    // Names of categories are often stored as numbers. The other way, nobody knows what a text would mean.
    if (declared !== type && declared !== "string" && !(declared === "date" && type === "string")) {
      throw new DataError(`${settings.source}: \`${name}\` is ${fileType}, and ${declared} is declared.`);
    }
    chosen.set(name, declared);
  }
  return chosen;
}

/** Tables of up to `chunkRows` rows, none across two batches; or one of all batches. */
export async function* batchTables(
  batches: AsyncIterable<Batch>,
  columns: ReadonlyMap<string, ColumnType>,
  settings: ReadSettings,
): AsyncGenerator<Table> {
  const { source, chunkRows } = settings;
  const isWhole = !Number.isFinite(chunkRows);
  // Rows of earlier tables, and of this one so far.
  let [done, before, tables] = [0, 0, 0];
  let made = start();
  for await (const batch of batches) {
    await batch.fill((column, row, value) => made.get(column)!.set(before + row, asText(columns.get(column)!, value)));
    before += batch.rows;
    if (isWhole) continue;
    const table = finish();
    for (let from = 0; from < table.rowCount; from += chunkRows, tables++) yield table.slice(from, from + chunkRows);
    done += before;
    before = 0;
    made = start();
  }
  if (tables === 0) yield finish();

  function start(): Map<string, ValueColumn> {
    const what = (name: string) => (row: number) => `row ${done + row} of ${source}: \`${name}\``;
    return new Map([...columns].map(([name, type]) => [name, new ValueColumn(type, 1024, what(name))]));
  }

  function finish(): Table {
    const entries = [...made].map(([name, column]) => [name, column.finish(before)] as const);
    return Table.fromColumns(Object.fromEntries(entries), {}, source);
  }
}

/** Values of a column of another type that is read as strings. */
function asText(type: ColumnType, value: unknown): unknown {
  if (type !== "string") return value;
  if (value instanceof Date) return value.toISOString();
  const isOther = typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
  return isOther ? String(value) : value;
}
