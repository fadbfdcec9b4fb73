// Parquet and Arrow files that pyarrow wrote (files/make.py), read with the real packages.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { DataError } from "hookline";
import { readChunks, readTable, type ReadTableOptions, type Table } from "hookline/data";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { expect, test } from "vitest";

const path = (file: string): string => join(import.meta.dirname, "files", file);

const COLUMNS = {
  id: "number",
  age: "number",
  small: "number",
  plan: "string",
  tier: "string",
  active: "boolean",
  day: "date",
  at: "date",
} as const;

const rowsOf = (table: Table): unknown[] => Array.from({ length: table.rowCount }, (_, i) => table.row(i));
const date = (text: string): Date => new Date(text);

const ROWS = [
  {
    id: 1,
    age: 31.5,
    small: 1,
    plan: "basic",
    tier: "gold",
    active: true,
    day: date("2024-01-31"),
    at: date("2024-01-31T12:00:00.500Z"),
  },
  { id: 2, age: null, small: 2, plan: null, tier: "silver", active: false, day: null, at: null },
  {
    id: 3,
    age: null,
    small: null,
    plan: "pro",
    tier: null,
    active: null,
    day: date("1969-12-31"),
    at: date("1969-12-31"),
  },
  {
    id: 4,
    age: -1,
    small: 4,
    plan: "basic",
    tier: "gold",
    active: true,
    day: date("2024-02-29"),
    at: date("2024-02-29"),
  },
  { id: 5, age: 0, small: 5, plan: "ä☃", tier: "gold", active: false, day: date("2000-01-01"), at: date("2000-01-01") },
];

const FILES = ["people.parquet", "people-zstd.parquet", "people.arrow", "people.feather"];

test.each(FILES)("%s: types and values of the file", async (file) => {
  const table = await readTable(path(file), { columns: COLUMNS, rest: "skip" });
  expect(table.schema).toEqual(COLUMNS);
  expect(rowsOf(table)).toEqual(ROWS);
  // Another source of the same bytes, which cannot be read in parts.
  const bytes = readFileSync(path(file));
  const format = file.endsWith("parquet") ? "parquet" : "arrow";
  async function* blocks() {
    for (let at = 0; at < bytes.length; at += 5) yield bytes.subarray(at, at + 5);
  }
  expect(rowsOf(await readTable(blocks(), { columns: COLUMNS, rest: "skip", format }))).toEqual(ROWS);
  expect(rowsOf(await readTable(new File([bytes], file), { columns: COLUMNS, rest: "skip" }))).toEqual(ROWS);
});

test.each(FILES.filter((file) => file !== "people-zstd.parquet"))(
  "%s: chunks end with row groups and record batches",
  async (file) => {
    for (const [chunkRows, sizes] of [
      [1, [1, 1, 1, 1, 1]],
      [2, [2, 2, 1]],
      [9, [2, 2, 1]],
    ] as const) {
      const found: Table[] = [];
      for await (const table of readChunks(path(file), { columns: COLUMNS, rest: "skip", chunkRows }))
        found.push(table);
      expect(found.map(({ rowCount }) => rowCount)).toEqual(sizes);
      expect(found.flatMap(rowsOf)).toEqual(ROWS);
    }
  },
);

test.each(FILES)("%s: numbers and dates as strings where that is declared", async (file) => {
  const columns = { id: "string", active: "string", day: "string" } as const;
  const table = await readTable(path(file), { columns, rest: "skip" });
  expect(table.row(0)).toEqual({ id: "1", active: "true", day: "2024-01-31T00:00:00.000Z" });
  expect(table.row(2).active).toBeNull();
});

test.each<[string, ReadTableOptions, string]>([
  [
    "people.parquet",
    {},
    '`nested` is a list or a structure, which a table cannot hold. Leave it out with rest: "readable"',
  ],
  ["people.arrow", {}, "`nested` is of type List<"],
  ["people.parquet", { columns: { plan: "number" }, rest: "skip" }, "`plan` is of type STRING, and number is declared"],
  ["people.arrow", { columns: { plan: "number" }, rest: "skip" }, "`plan` is of type Utf8, and number is declared"],
  ["people.parquet", { columns: { plann: "string" } }, "has no column `plann`. Did you mean `plan`?"],
  ["big.parquet", {}, "row 1 of "],
  ["big.parquet", {}, "`n` is `1152921504606846976` (bigint), and a number is expected"],
  ["big.arrow", {}, "`n` is `1152921504606846976` (bigint), and a number is expected"],
  [
    "people-lz4.feather",
    { columns: { id: "number" }, rest: "skip" },
    "cannot be read as Arrow: it is compressed. Write it without compression",
  ],
  ["make.py", { format: "parquet" }, "make.py cannot be read as Parquet: "],
  ["make.py", { format: "arrow" }, "make.py cannot be read as Arrow: "],
  ["people.parquet", { separator: ";" }, "`separator` is for CSV"],
])("%s %j is a clear error", async (file, options, message) => {
  await expect(readTable(path(file), options)).rejects.toThrow(message);
});

test.each(FILES)("%s: a truncated file is an error, not a shorter table", async (file) => {
  const bytes = readFileSync(path(file));
  const options = { columns: COLUMNS, rest: "skip" } as const;
  // Where a stream of Arrow may end is no error by its specification: after the message of a batch.
  const step = file === "people.arrow" ? 50 : 8;
  for (let length = 0; length < bytes.length * 0.8; length += step) {
    const cut = new File([bytes.subarray(0, length)], file);
    await expect(readTable(cut, options), `${length}`).rejects.toBeInstanceOf(DataError);
  }
});

test("what hyparquet reads row by row", async () => {
  for (const file of ["people.parquet", "people-zstd.parquet"]) {
    const bytes = Uint8Array.from(readFileSync(path(file)));
    const rows = await parquetReadObjects({ file: bytes.buffer, compressors, columns: ["id", "plan", "active", "at"] });
    const table = await readTable(path(file), { columns: COLUMNS, rest: "skip" });
    for (const [i, { id, plan, active, at }] of rows.entries())
      expect(table.row(i)).toMatchObject({
        id: Number(id),
        plan: plan ?? null,
        active: active ?? null,
        at: at ?? null,
      });
  }
});

test.each(["stream", "file"] as const)("what apache-arrow itself writes, as a %s", async (form) => {
  const x = Float32Array.from({ length: 3000 }, (_, i) => i / 8);
  const names = Array.from(x, (_, i) => `n${i % 7}`);
  const bytes = tableToIPC(tableFromArrays({ x, names }), form);
  const table = await readTable(new Blob([Uint8Array.from(bytes)]), { format: "arrow" });
  expect(table.column("x")).toEqual({ type: "number", values: Float64Array.from(x) });
  expect(Array.from(names, (_, i) => table.row(i).names)).toEqual(names);
});
