import { DataError } from "hookline";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ReadTableOptions } from "./read-options.ts";
import { readChunks, readTable } from "./read-table.ts";
import type { Table } from "./table.ts";

const read = (text: string, options?: ReadTableOptions): Promise<Table> => readTable({ text }, options);

const rowsOf = (table: Table): unknown[] => Array.from({ length: table.rowCount }, (_, i) => table.row(i));

test("types are inferred, gaps are missing", async () => {
  const table = await read(
    [
      "id,age,plan,active,since,zip,empty",
      "1,31.5,basic,true,2024-01-31,01234,",
      "2,NA,pro,FALSE,2024-02-29T12:00:00Z,99999,",
      "3,-1e3,,,,,NaN",
    ].join("\n"),
  );
  expect(table.schema).toEqual({
    id: "number",
    age: "number",
    plan: "string",
    active: "boolean",
    since: "date",
    zip: "string",
    empty: "number",
  });
  expect(rowsOf(table)).toEqual([
    { id: 1, age: 31.5, plan: "basic", active: true, since: new Date("2024-01-31"), zip: "01234", empty: null },
    { id: 2, age: null, plan: "pro", active: false, since: new Date("2024-02-29T12:00Z"), zip: "99999", empty: null },
    { id: 3, age: -1000, plan: null, active: null, since: null, zip: null, empty: null },
  ]);
});

test("quotes, byte order mark, CRLF, separators and line breaks inside quotes, blanks", async () => {
  const table = await read('\uFEFFname , n\r\n"a, ""b""\r\nc", 1 \r\n\r\n  spaced out  ,2\r\n"  kept ",3\r\n""""," 4"');
  expect(rowsOf(table)).toEqual([
    { name: 'a, "b"\r\nc', n: 1 },
    { name: "spaced out", n: 2 },
    { name: "  kept ", n: 3 },
    { name: '"', n: 4 },
  ]);
  expect([0, 1, 2, 3].map((row) => table.where(row))).toEqual(["text:2", "text:5", "text:6", "text:7"]);
});

test("other separators, no header, own names, lines that end with a carriage return", async () => {
  expect(rowsOf(await read("1::a:b\n2::c", { separator: "::", header: false }))).toEqual([
    { column1: 1, column2: "a:b" },
    { column1: 2, column2: "c" },
  ]);
  expect(rowsOf(await read("a\tb\r1\t2\r", { format: "tsv", names: ["x", "y"] }))).toEqual([{ x: 1, y: 2 }]);
  expect((await read(",a\n0,1\n")).schema).toEqual({ column1: "number", a: "number" });
});

test("declared types, and what becomes of other columns", async () => {
  const text = "id,flag,when,note\n007,yes,2024-01-01,1.50\n8,0,,x\n";
  const columns = { id: "number", flag: "boolean", when: "date" } as const;
  expect(rowsOf(await read(text, { columns, rest: "string" }))).toEqual([
    { id: 7, flag: true, when: new Date("2024-01-01"), note: "1.50" },
    { id: 8, flag: false, when: null, note: "x" },
  ]);
  expect((await read(text, { columns, rest: "skip" })).schema).toEqual(columns);
  expect((await read(text, { columns: { id: "string" } })).schema).toMatchObject({ id: "string", flag: "string" });
  expect(rowsOf(await read('country\nNA\n""\n', { missing: [""] }))).toEqual([{ country: "NA" }, { country: null }]);
});

test("numbers are those of JavaScript, to the last bit", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.double({ noNaN: true }), { minLength: 1, maxLength: 20 }), async (numbers) => {
      const texts = numbers.map((number) => (Object.is(number, -0) ? "-0" : `${number}`));
      const { columns } = await read(`x\n${texts.join("\n")}\n`);
      expect(columns.x).toEqual({ type: "number", values: Float64Array.from(numbers) });
    }),
  );
  const texts = [
    "9007199254740993",
    "0.1",
    "123456789012345678901234567890",
    "1.7976931348623157e308",
    ".5",
    "5.",
    "+1",
  ];
  const { columns } = await read(`x\n${texts.join("\n")}\n-0\n1e-400`);
  expect(columns.x).toMatchObject({ values: Float64Array.from([...texts.map(Number), -0, 0]) });
});

test("ragged rows where they are allowed", async () => {
  expect(rowsOf(await read("a,b\n1\n2,3,4\n", { ragged: true }))).toEqual([
    { a: 1, b: null },
    { a: 2, b: 3 },
  ]);
});

test("a header alone is a table without rows", async () => {
  for (const text of ["a,b", "a,b\n", "a,b\r\n\n"]) {
    const table = await read(text);
    expect([table.rowCount, Object.keys(table.columns)]).toEqual([0, ["a", "b"]]);
  }
});

test("very long cells", async () => {
  const long = "x".repeat(5_000_000);
  const table = await read(`a,b\n"${long}",1\n${long},2\n`);
  expect(table.column("a")).toEqual({ type: "string", codes: new Int32Array([0, 0]), names: [long] });
});

const many = `n\n${"1\n".repeat(20)}`;

test.each<[string, string, ReadTableOptions, string]>([
  ["an empty file", "", {}, "text is empty: it has no line with the names of columns"],
  ["blank lines only", "\n \n", {}, "text is empty"],
  [
    "a string for a number",
    "a,n\n1,2\n1,x\n",
    { columns: { n: "number" } },
    'text:3: `n` is "x", and a number is expected.',
  ],
  [
    "a later cell that does not fit",
    `${many}oops\n`,
    { inferRows: 10 },
    'text:22: `n` is "oops", and a number is expected. The type is inferred from the first 10 rows: declare another, columns: { "n": "string" }',
  ],
  ["hexadecimal", "n\n0x10\n", { columns: { n: "number" } }, '`n` is "0x10"'],
  [
    "NaN that is not missing",
    "n\nNaN\n",
    { columns: { n: "number" }, missing: [] },
    '`n` is "NaN", and a number is expected',
  ],
  ["an empty cell that is not missing", "n,m\n,1\n", { columns: { n: "number" }, missing: [] }, "`n` is empty"],
  ["no date", "d\n31.12.2024\n", { columns: { d: "date" } }, '`d` is "31.12.2024", and an ISO 8601 date'],
  ["no boolean", "d\nmaybe\n", { columns: { d: "boolean" } }, '`d` is "maybe", and true or false'],
  [
    "a missing column",
    "age,plan\n1,2\n",
    { columns: { aeg: "number" } },
    "text has no column `aeg`. Did you mean `age`? Its columns: age, plan.",
  ],
  [
    "duplicate names",
    "a,b,a\n1,2,3\n",
    {},
    "columns 1 and 3 are both called `a`. Rename one, or give all names with `names`",
  ],
  ["too few cells", "a,b\n1,2\n3\n", {}, "text:3: this row has 1 cell, but there are 2 columns. Is the row truncated?"],
  [
    "too many cells",
    "a,b\n1,2,3\n",
    {},
    "text:2: this row has 3 cells, but there are 2 columns. Is a separator inside a cell not quoted?",
  ],
  ["a quote that never ends", 'a\n1\n"2\n3\n', {}, "text:3: a quoted cell in the row that begins here never ends"],
  ["too few names", "a,b\n1,2\n", { names: ["a"] }, "`names` has 1 names, but the file has 2 columns"],
  ["no columns left", "a,b\n1,2\n", { rest: "skip" }, "has no columns"],
  ["a separator that is none", "a", { separator: '"' }, "Expected `separator` to be a text without quotes"],
  ["an unknown format", "a", { format: "xls" as "csv" }, "Expected `format` to be one of"],
  [
    "a type that is none",
    "a",
    { columns: { a: "int" as "number" } },
    "Expected `columns` to be an object from columns to one of",
  ],
])("%s is a clear error", async (_name, text, options, message) => {
  await expect(read(text, options)).rejects.toThrow(message);
});

test("bytes that are not UTF-8, other encodings, gzip", async () => {
  const latin = new Blob([Uint8Array.from(Buffer.from("name\nJosé\n", "latin1"))]);
  await expect(readTable(latin)).rejects.toThrow("blob:2: `name` is not UTF-8. Give the file's `encoding`");
  await expect(readTable(latin)).rejects.toBeInstanceOf(DataError);
  expect((await readTable(latin, { encoding: "windows-1252" })).row(0)).toEqual({ name: "José" });
  await expect(readTable(latin, { encoding: "klingon" })).rejects.toThrow(
    "Expected `encoding` to be one that TextDecoder",
  );
  const utf16 = new Blob([Uint8Array.from(Buffer.from("\uFEFFa\n☃\n", "utf16le"))]);
  expect((await readTable(utf16)).row(0)).toEqual({ a: "☃" });
  await expect(readTable(new Blob([Uint8Array.from([65, 0, 66, 0])]))).rejects.toThrow("blob is not a text");
  const zip = new Blob([Uint8Array.from([80, 75, 3, 4, 20, 0, 6, 0, 8, 0])]);
  await expect(readTable(zip)).rejects.toThrow("blob is not a text");
  const packed = await new Response(new Blob(["a\n1\n"]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
  expect((await readTable(packed)).row(0)).toEqual({ a: 1 });
  await expect(readTable(packed.slice(0, 15))).rejects.toThrow("blob is a damaged or truncated gzip file");
});

test("names that every object has are names like others", async () => {
  const text = "__proto__,constructor,toString\n1,a,2024-01-01\n";
  const table = await read(text, { columns: { constructor: "string" as const } });
  expect(Object.keys(table.columns)).toEqual(["__proto__", "constructor", "toString"]);
  expect(table.column("__proto__")).toEqual({ type: "number", values: Float64Array.of(1) });
  expect(Object.entries(table.row(0))).toEqual([
    ["__proto__", 1],
    ["constructor", "a"],
    ["toString", new Date("2024-01-01")],
  ]);
  const lines = '{"__proto__": 1, "a": 2}\n{"constructor": "x"}\n';
  const json = await readTable({ text: lines }, { format: "jsonl" });
  expect(Object.entries(json.row(1))).toEqual([
    ["__proto__", null],
    ["a", null],
    ["constructor", "x"],
  ]);
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

const cell = fc.oneof(
  fc.constantFrom(
    "",
    "NA",
    "1",
    "2.5",
    "-3e2",
    "true",
    "2024-01-01",
    "x",
    "ä☃",
    "a b",
    '"',
    "a,b",
    "line\nbreak",
    "\r",
    "\r\n",
    ",",
    "007",
  ),
  fc.string({ maxLength: 6 }),
);
const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;

test("any size of blocks and of chunks gives the same table", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell), { maxLength: 12 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.constantFrom(",", "::", "\t"),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      async (rows, newline, separator, blockBytes, chunkRows, last) => {
        const lines = rows.map((cells) => cells.map(quote).join(separator));
        const text = [["a", "b", "c"].join(separator), ...lines].join(newline) + (last ? newline : "");
        const options = { separator, inferRows: 100 };
        const whole = await read(text, options);
        expect(whole.rowCount).toBe(rows.length);
        const bytes = new TextEncoder().encode(text);
        async function* blocks() {
          for (let at = 0; at < bytes.length; at += blockBytes) yield bytes.slice(at, at + blockBytes);
        }
        const found: unknown[] = [];
        const [sizes, lineNumbers]: number[][] = [[], []];
        for await (const table of readChunks(blocks(), { ...options, chunkRows })) {
          expect(table.schema).toEqual(whole.schema);
          sizes!.push(table.rowCount);
          for (let row = 0; row < table.rowCount; row++) lineNumbers!.push(table.lineOf(row));
          found.push(...rowsOf(table));
        }
        expect(found).toEqual(rowsOf(whole));
        expect(lineNumbers).toEqual(Array.from({ length: whole.rowCount }, (_, row) => whole.lineOf(row)));
        expect(sizes!.slice(0, -1).every((size) => size === chunkRows)).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});
