// The CSV reader beside Python's: the csv module for cells, on any text; pandas for types and values.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { readTable } from "hookline/data";
import { expect, test } from "vitest";

const python = "/usr/bin/python3";
const present = spawnSync(python, ["-c", "import pandas"]).status === 0;
if (!present) console.warn("The comparison with pandas is skipped: apt-get install python3-pandas");

/** What Python makes of all cases, in one process. */
function inPython<T>(as: "rows" | "table", texts: readonly string[]): T[] {
  const input = texts.map((text) => JSON.stringify({ as, text })).join("\n");
  const script = join(import.meta.dirname, "csv-python.py");
  const { stdout, stderr, status } = spawnSync(python, [script], { input, encoding: "utf8", maxBuffer: 2 ** 28 });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}

const SEED = 12;

// No blanks: those around a cell without quotes are left out here, and kept by Python.
const anyText = fc
  .array(fc.constantFrom("a", "1", "ä", "☃", ",", ",", '"', '"', '""', "\n", "\r\n", "\r"), { maxLength: 30 })
  .map((parts) => parts.join(""));

const NAMES = Array.from({ length: 31 }, (_, i) => `c${i}`);

test.skipIf(!present)("cells of 1000 random texts are those of Python's csv", async () => {
  const texts = fc.sample(anyText, { numRuns: 1000, seed: SEED });
  const expected = inPython<{ ended: boolean; rows: string[][] }>("rows", texts);
  let [read, refused] = [0, 0];
  for (const [i, text] of texts.entries()) {
    const { ended, rows } = expected[i]!;
    const reading = readTable(
      { text },
      { header: false, names: NAMES, ragged: true, missing: [], columns: {}, rest: "string" },
    );
    if (!ended || rows.length === 0) {
      await expect(reading, JSON.stringify(text)).rejects.toThrow(ended ? "text is empty" : "never ends");
      refused++;
      continue;
    }
    const table = await reading;
    const found = Array.from({ length: table.rowCount }, (_, row) => {
      const cells = Object.values(table.row(row));
      return cells.slice(0, cells.includes(null) ? cells.indexOf(null) : undefined);
    });
    expect(found, JSON.stringify(text)).toEqual(rows);
    read++;
  }
  expect(Math.min(read, refused)).toBeGreaterThan(200);
});

const number = fc.oneof(
  // For pandas, whole numbers beyond 64 bits are strings.
  fc.double({ noNaN: true }).map((x) => (Math.abs(x) < 1e15 ? `${x}` : x.toExponential())),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((x) => x.toFixed(3)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => x.toExponential(5).replace("e+", "E")),
);
const missing = fc.constantFrom("", "NA", "N/A", "NaN", "null", "None", "#N/A", "<NA>");
const word = fc.oneof(
  fc.constantFrom(
    "basic",
    "pro",
    "yes",
    "no",
    'a "b"',
    "x,y",
    "two\nlines",
    "ä☃",
    "NAN",
    "nil",
    "-",
    "1-2",
    "0x1F",
    " x ",
  ),
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !/[\0\r]/.test(text) && Number.isNaN(Number(text))),
);
const quote = (text: string): string => (/^[\w.+-]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);

const typedText = fc
  .record({
    rows: fc.array(
      fc.tuple(
        fc.oneof({ weight: 5, arbitrary: number }, missing),
        fc.oneof({ weight: 5, arbitrary: word }, missing),
        fc.constantFrom("True", "False", "TRUE", "false"),
      ),
      { minLength: 1, maxLength: 12 },
    ),
    newline: fc.constantFrom("\n", "\r\n"),
  })
  // Without a word, a column of strings would be one of numbers.
  .map(({ rows, newline }) => ["n,s,b", "1,word,True", ...rows.map((row) => row.map(quote).join(","))].join(newline));

test.skipIf(!present)("types and values of 300 random tables are those of pandas", async () => {
  const texts = fc.sample(typedText, { numRuns: 300, seed: SEED });
  const expected = inPython<Record<string, unknown[]>>("table", texts);
  for (const [i, text] of texts.entries()) {
    const table = await readTable({ text });
    expect(table.schema, JSON.stringify(text)).toEqual({ n: "number", s: "string", b: "boolean" });
    const rows = Array.from({ length: table.rowCount }, (_, row) => table.row(row));
    const found = {
      n: rows.map(({ n }) => (typeof n === "number" && !Number.isFinite(n) ? String(n) : n)),
      s: rows.map(({ s }) => s),
      b: rows.map(({ b }) => b),
    };
    // JSON has no −0.
    expect(JSON.parse(JSON.stringify(found)), JSON.stringify(text)).toEqual(JSON.parse(JSON.stringify(expected[i])));
  }
});
