// Predictions beside the rows of a file: what the file has is kept as it is, in every format.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Schema } from "../../data/table/column.ts";
import { originalRows } from "./original-rows.ts";
import { PredictionText, type RowFormat } from "./prediction-rows.ts";

const home = mkdtempSync(join(tmpdir(), "hookline-rows-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Writes a file and reads it in chunks of two rows, with the doubled age as the prediction. */
async function doubled(name: string, text: string, format: RowFormat, columns: Schema = { age: "number" }) {
  const file = join(home, name);
  writeFileSync(file, text);
  const out = new PredictionText(format);
  const parts: string[] = [];
  for await (const chunk of originalRows(file, columns, 2)) {
    const { age } = chunk.table.columns;
    const values = age!.type === "number" ? age!.values.map((each) => 2 * each) : new Float64Array();
    const probabilities = { no: values.map((each) => each / 100), yes: values.map((each) => 1 - each / 100) };
    parts.push(out.lines(chunk, { churn: Array.from(values, (each) => (each > 50 ? "yes" : "no")), probabilities }));
  }
  return parts.join("");
}

const CSV = `id,age,plan,note\n007,20.00,basic,"a, ""b"""\n008,1e1,NA,\n009,30,"two\nlines",x y\n`;

test("CSV: cells keep their text, whatever their type", async () => {
  expect(await doubled("a.csv", CSV, "csv")).toBe(
    [
      "id,age,plan,note,predicted_churn,probability_no,probability_yes",
      `007,20.00,basic,"a, ""b""",no,0.4,0.6`,
      "008,1e1,NA,,no,0.2,0.8",
      `009,30,"two\nlines",x y,yes,0.6,0.4`,
      "",
    ].join("\n"),
  );
});

test("TSV, and CSV to JSON lines", async () => {
  expect(await doubled("a.tsv", "age\tplan\n20\ta,b\n", "tsv")).toBe(
    "age\tplan\tpredicted_churn\tprobability_no\tprobability_yes\n20\ta,b\tno\t0.4\t0.6\n",
  );
  expect(await doubled("b.csv", "id,age\n007,20\n", "jsonl")).toBe(
    '{"id":"007","age":"20","predicted_churn":"no","probability_no":0.4,"probability_yes":0.6}\n',
  );
});

test("JSON lines: values keep their kind, blank lines are no rows", async () => {
  const text = '{"age": 20, "tags": ["a"], "id": "7"}\n\n{"age": 30, "id": null}\n{"age": 10, "more": 1}\n';
  expect(
    (await doubled("a.jsonl", text, "jsonl"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { age: 20, tags: ["a"], id: "7", predicted_churn: "no", probability_no: 0.4, probability_yes: 0.6 },
    { age: 30, id: null, predicted_churn: "yes", probability_no: 0.6, probability_yes: 0.4 },
    { age: 10, more: 1, predicted_churn: "no", probability_no: 0.2, probability_yes: 0.8 },
  ]);
});

test("JSON lines to CSV: a key that comes later than the header is an error", async () => {
  const lines = ['{"age": 20, "id": "7"}', '{"age": 30}', '{"age": 10, "more": 1}'];
  expect(await doubled("b.jsonl", lines.slice(0, 2).join("\n"), "csv")).toBe(
    "age,id,predicted_churn,probability_no,probability_yes\n20,7,no,0.4,0.6\n30,,yes,0.6,0.4\n",
  );
  await expect(doubled("c.jsonl", lines.join("\n"), "csv")).rejects.toThrow("`more` is not in the first rows");
});

test("a name that the file has already, a missing column and a text for a number are errors with their place", async () => {
  await expect(doubled("c.csv", "age,predicted_churn\n1,no\n", "csv")).rejects.toThrow(
    "already has a column `predicted_churn`",
  );
  await expect(doubled("d.csv", "agee\n1\n", "csv")).rejects.toThrow("has no column `age`. Did you mean `agee`?");
  await expect(doubled("e.csv", "age\n1\nold\n", "csv")).rejects.toThrow(/e\.csv:3: .*`age`.*"old"/);
  await expect(doubled("f.csv", "", "csv")).rejects.toThrow("f.csv is empty");
  await expect(doubled("g.jsonl", '{"age": "x"}\n', "jsonl")).rejects.toThrow(/g\.jsonl:1: `age` is `"x"`/);
});
