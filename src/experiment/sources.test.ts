import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataError } from "hookline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { csv, type CsvSourceOptions, table } from "./sources.ts";

let dir: string;
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), "csv-"))));
afterAll(() => rm(dir, { recursive: true }));

async function read(text: string, options: Omit<CsvSourceOptions, "file">) {
  const file = join(dir, "data.csv");
  await writeFile(file, text);
  return csv({ file, ...options })();
}

test("columns become arrays of their type, in the order of the rows", async () => {
  const data = await read("user,rating,note\r\n1,4.5,a\r\n-2,0.25,b\r\n", {
    columns: { rating: "float32", user: "int32" },
  });
  expect(data).toEqual({ rating: new Float32Array([4.5, 0.25]), user: new Int32Array([1, -2]) });
});

test("several columns side by side are one array", async () => {
  const data = await read("a,y,b\n1,0,2\n3,1,4\n", { columns: { x: { of: ["a", "b"] }, y: "uint32" } });
  expect(data).toEqual({
    x: { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] },
    y: new Uint32Array([0, 1]),
  });
});

test("quotes, another separator, no header, a byte order mark, empty lines", async () => {
  expect(await read('\uFEFFname,n\n"a, ""b""\nc",1\n\n"d",2\n', { columns: { n: "int32" } })).toEqual({
    n: new Int32Array([1, 2]),
  });
  const options = { header: false, separator: "::", columns: { user: "int32", stars: "float32" } } as const;
  expect(await read("1::5\n2::3.5\n", options)).toEqual({
    user: new Int32Array([1, 2]),
    stars: new Float32Array([5, 3.5]),
  });
});

test.each([
  ["a\nx\n", ':2: `a` is "x", and a number is expected'],
  ["a\n1\n2.5\n", ':3: `a` is "2.5", and int32 is expected'],
  ["a\n3000000000\n", '`a` is "3000000000"'],
  ["b,a\n1\n", ":2: `a` is empty"],
  ['b,a\n"1\n2",3\n4,x\n', ':4: `a` is "x"'],
  ["aa,bb\n1,2\n", "has no column `a`. Its columns: aa, bb."],
])("%j is an error that says where", async (text, message) => {
  const reading = read(text, { columns: { a: "int32" } });
  await expect(reading).rejects.toBeInstanceOf(DataError);
  await expect(reading).rejects.toThrow(message);
});

test("a file that is not there, and options that are none", async () => {
  await expect(csv({ file: join(dir, "none.csv"), columns: { a: "int32" } })()).rejects.toThrow(
    "there is no such file",
  );
  expect(() => csv({ file: "f", columns: {} })).toThrow("Expected `columns` to be an object from fields to");
  expect(() => csv({ file: "f", columns: { a: "int64" as "int32" } })).toThrow("Expected `columns`");
});

test("rows of unequal length, and names that occur twice among columns that nobody wants", async () => {
  expect(await read("a,b,b\n1,2,3,4\n5\n", { columns: { a: "float32" } })).toEqual({ a: new Float32Array([1, 5]) });
});

test("a table from a file, with the options of readTable", async () => {
  const file = join(dir, "people.csv");
  await writeFile(file, "age;plan\n31;basic\n;pro\n");
  const people = await table({ file, separator: ";", columns: { age: "number" } })();
  expect(people.schema).toEqual({ age: "number", plan: "string" });
  expect(people.row(1)).toEqual({ age: null, plan: "pro" });
  expect(() => table({ file, column: {} } as never)).toThrow("unknown option `column`. Did you mean `columns`?");
  expect(() => table({} as never)).toThrow("missing option `file`");
});
