import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DataError, OptionError } from "hookline";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadTableOptions } from "./read-options.ts";
import { readChunks, readTable } from "./read-table.ts";
import type { Table } from "./table.ts";

let dir: string;
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), "tables-"))));
afterAll(() => rm(dir, { recursive: true }));

const rowsOf = (table: Table): unknown[] => Array.from({ length: table.rowCount }, (_, i) => table.row(i));

const TEXT = "age,plan\n31,basic\n,pro\n";
const ROWS = [
  { age: 31, plan: "basic" },
  { age: null, plan: "pro" },
];

test("from a path, an address, a Blob, a File, a Response, streams and a text", async () => {
  const path = join(dir, "customers.csv");
  await writeFile(path, TEXT);
  const server = createServer((request, response) => {
    if (request.url === "/customers.csv?v=1") response.end(TEXT);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  async function* pieces() {
    yield TEXT.slice(0, 3);
    yield new TextEncoder().encode(TEXT.slice(3));
  }
  try {
    const files = [
      path,
      pathToFileURL(path),
      `${address}/customers.csv?v=1`,
      new URL(`${address}/customers.csv?v=1`),
      new Blob([TEXT]),
      new File([TEXT], "mine.csv"),
      new Response(TEXT),
      new Blob([TEXT]).stream(),
      createReadStream(path),
      pieces(),
      { text: TEXT },
    ];
    for (const file of files) expect(rowsOf(await readTable(file))).toEqual(ROWS);
    await expect(readTable(`${address}/other.csv`)).rejects.toThrow("the server answered 404");
  } finally {
    server.close();
  }
  await expect(readTable("http://127.0.0.1:1/a.csv")).rejects.toThrow("http://127.0.0.1:1/a.csv cannot be fetched");
  expect((await readTable(path)).source).toBe(path);
  expect((await readTable(new File([TEXT], "mine.csv"))).where(1)).toBe("mine.csv:3");
});

test("a stream of chunks can be read again from a file, and stops where the reader does", async () => {
  const path = join(dir, "long.csv");
  await writeFile(path, `n\n${Array.from({ length: 1000 }, (_, i) => i).join("\n")}\n`);
  const chunks = readChunks(path, { chunkRows: 300 });
  for (let pass = 0; pass < 2; pass++) {
    const sizes: number[] = [];
    for await (const table of chunks) sizes.push(table.rowCount);
    expect(sizes).toEqual([300, 300, 300, 100]);
  }
  let closed = false;
  async function* endless() {
    try {
      yield "n\n";
      for (;;) yield "1\n".repeat(100);
    } finally {
      closed = true;
    }
  }
  for await (const table of readChunks(endless(), { chunkRows: 10, inferRows: 10 })) {
    expect(table.rowCount).toBe(10);
    break;
  }
  expect(closed).toBe(true);
});

test("JSON lines", async () => {
  const lines = [
    '{"age": 31, "plan": "basic", "since": "2024-01-01", "ok": true}',
    "",
    '{"plan": null, "age": null, "extra": [1]}',
    '{"plan": "", "ok": false, "extra": {"a": 1}}',
  ];
  const table = await readTable(
    { text: lines.join("\r\n") },
    { format: "jsonl", columns: { age: "number" }, rest: "string" },
  );
  expect(rowsOf(table)).toEqual([
    { age: 31, plan: "basic", since: "2024-01-01", ok: "true", extra: null },
    { age: null, plan: null, since: null, ok: null, extra: "[1]" },
    { age: null, plan: null, since: null, ok: "false", extra: '{"a":1}' },
  ]);
  expect(table.where(1)).toBe("text:3");
  const inferred = await readTable(new File(lines.slice(0, 2), "a.ndjson"));
  expect(inferred.schema).toEqual({ age: "number", plan: "string", since: "date", ok: "boolean" });
  const some: number[] = [];
  for await (const { rowCount } of readChunks(new File(['{"a":1}\n'.repeat(25)], "a.jsonl"), { chunkRows: 10 }))
    some.push(rowCount);
  expect(some).toEqual([10, 10, 5]);
});

const numbers = '{"a": 1}\n{"a": 2}\n';

test.each<[string, string, ReadTableOptions, string]>([
  [
    "a string for a number",
    '{"a": 1}\n{"a": "2"}\n',
    {},
    'text:2: `a` is `"2"` (string), and a number is expected. The type is inferred',
  ],
  ["the same, declared", '{"a": "2"}\n', { columns: { a: "number" } }, "and a number is expected."],
  ["a nested value", '{"a": [1]}\n', {}, "text:1: `a` is `[1]` (array), and a number is expected"],
  ["what is not JSON", `${numbers}{a: 3}\n`, {}, "text:3: this line is not JSON"],
  ["no object", `${numbers}3\n`, {}, 'text:3: expected an object such as {"age": 31} on each line'],
  ["an empty file", "\n", {}, "text is empty: it has no lines"],
  ["a missing column", numbers, { columns: { b: "number" } }, "text has no column `b`. Its columns: a."],
  [
    "a column that comes late",
    `${numbers}{"a": 3, "b": 1}`,
    { inferRows: 2 },
    "text:3: `b` is in none of the first 2 lines",
  ],
  ["an option of CSV", numbers, { header: false }, "`header` is for CSV, and text is read as jsonl"],
])("JSON lines: %s is a clear error", async (_name, text, options, message) => {
  await expect(readTable({ text }, { format: "jsonl", ...options })).rejects.toThrow(message);
});

test("files that are not there, that are no files, that have no known ending", async () => {
  await expect(readTable(join(dir, "none.csv"))).rejects.toThrow("none.csv: there is no such file.");
  await expect(readTable(join(dir, "none.csv"))).rejects.toBeInstanceOf(DataError);
  await expect(readTable(dir, { format: "csv" })).rejects.toThrow("it is a directory");
  await expect(readTable("a.xlsx")).rejects.toBeInstanceOf(OptionError);
  await expect(readTable("a.cvs")).rejects.toThrow("Did you mean `csv`?");
  expect(() => readChunks("a.xlsx")).toThrow("a.xlsx does not end in that of a format (.csv, .tsv");
  expect(() => readChunks("a.csv", { chunkRows: 0 })).toThrow(
    "readChunks: Expected `chunkRows` to be a whole number ≥ 1",
  );
  await expect(readTable(3 as never)).rejects.toThrow("expected a path, an address, a Blob");
  const used = new Response("a\n1\n");
  await readTable(used);
  await expect(readTable(used)).rejects.toThrow("the body of this Response has been read before");
});
