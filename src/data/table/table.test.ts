import { DataError } from "hookline";
import { expect, test } from "vitest";
import { DataLoader } from "../data-loader.ts";
import { Table } from "./table.ts";

const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

test("columns of rows: types of their values, null and absent keys are missing", () => {
  const table = Table.fromRows([
    { age: 31, plan: "basic", active: true, since: day("2024-02-29") },
    { age: NaN, plan: null, active: undefined, since: null },
    { plan: "pro", age: 5n },
    { plan: "basic", active: false, extra: 1 },
  ]);
  expect(table.rowCount).toBe(4);
  expect(table.schema).toEqual({ age: "number", plan: "string", active: "boolean", since: "date", extra: "number" });
  expect(table.column("plan")).toEqual({
    type: "string",
    codes: new Int32Array([0, -1, 1, 0]),
    names: ["basic", "pro"],
  });
  expect(table.column("active")).toEqual({ type: "boolean", values: new Uint8Array([1, 255, 255, 0]) });
  expect(table.row(0)).toEqual({ age: 31, plan: "basic", active: true, since: day("2024-02-29"), extra: null });
  expect(table.row(2)).toEqual({ age: 5, plan: "pro", active: null, since: null, extra: null });
});

test("columns from arrays and typed arrays", () => {
  const table = Table.fromColumns({ a: [1, null], b: new Int32Array([3, 4]), c: ["2024-01-01", null] }, { c: "date" });
  expect(table.row(0)).toEqual({ a: 1, b: 3, c: day("2024-01-01") });
  expect(table.row(1)).toEqual({ a: null, b: 4, c: null });
  expect(Table.fromColumns({ constructor: [1], __proto__x: ["a"] }).schema.constructor).toBe("number");
});

test("take and slice keep rows, and where they were in the file", () => {
  const lines = new Uint32Array([2, 3, 7]);
  const table = Table.fromColumns({ n: [1, 2, 3], s: ["a", "b", "a"] }, {}, "f.csv", lines);
  const taken = table.take(new Uint32Array([2, 0]));
  expect([taken.row(0), taken.row(1)]).toEqual([
    { n: 3, s: "a" },
    { n: 1, s: "a" },
  ]);
  expect(taken.where(0)).toBe("f.csv:7");
  const sliced = table.slice(1, 9);
  expect(sliced.rowCount).toBe(2);
  expect(sliced.lineOf(1)).toBe(7);
  expect(sliced.row(0)).toEqual({ n: 2, s: "b" });
  expect(() => table.take(new Uint32Array([3]))).toThrow("f.csv has 3 rows, and no row 3");
  expect(Table.fromRows([{ a: 1 }]).where(0)).toBe("row 0 of table");
});

const schema = { age: "number", plan: "string" } as const;

test.each<[string, () => unknown, string]>([
  [
    "a wrong column",
    () => Table.fromRows([{ age: 1 }]).column("aeg"),
    "table has no column `aeg`. Did you mean `age`? Its columns: age.",
  ],
  [
    "a missing one",
    () => Table.fromRows([{ age: 1, paln: "x" }], schema),
    "row 0 of table has no `plan`. Did you mean `paln`?",
  ],
  [
    "a string for a number",
    () => Table.fromRows([{ age: "31", plan: "x" }], schema),
    'row 0 of table: `age` is `"31"` (string), and a number is expected',
  ],
  [
    "a number for a string",
    () => Table.fromRows([{ age: 31, plan: 1 }], schema),
    "`plan` is `1` (number), and a string is expected",
  ],
  ["a date that is none", () => Table.fromRows([{ at: "2024-02-30" }], { at: "date" }), "and an ISO 8601 date such as"],
  ["an object in a cell", () => Table.fromRows([{ a: { b: 1 } }]), "row 0 of table: `a` is an object (Object)"],
  [
    "mixed types",
    () => Table.fromRows([{ a: 1 }, { a: "x" }]),
    "row 1 of table: `a` is a string, but a number in row 0",
  ],
  ["a bigint beyond numbers", () => Table.fromRows([{ a: 2n ** 60n }]), "and a number is expected"],
  ["a row that is none", () => Table.fromRows([3 as unknown as object]), "expected an object such as { age: 31 }"],
  ["no columns", () => Table.fromColumns({}), "has no columns"],
  ["unequal columns", () => Table.fromColumns({ a: [1], b: [1, 2] }), "`a` has 1 rows but `b` has 2"],
  [
    "a code without a name",
    () => Table.fromColumns({ a: { type: "string", codes: new Int32Array([1]), names: ["x"] } }),
    "has the code 1, but there are 1 names",
  ],
  [
    "a boolean of 2",
    () => Table.fromColumns({ a: { type: "boolean", values: new Uint8Array([2]) } }),
    "is 2. Expected 0, 1 or 255",
  ],
  [
    "values of another type",
    () => Table.fromColumns({ a: { type: "number", values: new Float32Array(1) as never } }),
    "to have a Float64Array",
  ],
  [
    "a column of another type",
    () => Table.fromColumns({ age: { type: "boolean", values: new Uint8Array(1) }, plan: ["a"] }, schema),
    "`age` is a boolean column, and number is expected",
  ],
])("%s is a clear error", (_name, make, message) => {
  expect(make).toThrow(DataError);
  expect(make).toThrow(message);
});

test("a DataLoader does not take a Table, and says what does", () => {
  const load = () => new DataLoader(Table.fromRows([{ age: 1 }]) as never, { batchSize: 1 });
  expect(load).toThrow("DataLoader: got a Table, whose columns are not arrays yet. Fit a Preprocessor");
});
