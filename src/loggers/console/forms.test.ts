import { expect, test } from "vitest";
import { Table } from "./forms.ts";

const cells = (values: Record<string, string>) =>
  new Map(Object.entries(values).map(([name, text]) => [name, { text, bad: text === "NaN" }]));
const plain = { color: false, unicode: true };

test("names stand above their numbers, and come again now and then", () => {
  const table = new Table(["step"], 2, plain);
  const rows = [1, 2, 3].flatMap((step) => table.row(cells({ step: `${step}`, loss: `0.${step}` }), 80));
  expect(rows).toEqual([
    "   step        loss",
    "      1         0.1",
    "      2         0.2",
    "   step        loss",
    "      3         0.3",
  ]);
});

test("a new column brings a header; one that is missing in a row leaves a gap", () => {
  const table = new Table(["step"], 99, plain);
  expect(table.row(cells({ step: "1", loss: "0.5" }), 80)).toHaveLength(2);
  expect(table.row(cells({ step: "2", loss: "0.5", "perf/samplesPerSec": "12" }), 80)).toEqual([
    "   step        loss  perf/samplesPerSec",
    "      2         0.5                  12",
  ]);
  expect(table.row(cells({ step: "3", "perf/samplesPerSec": "12" }), 80)).toEqual([
    "      3                              12",
  ]);
  expect(table.row(cells({ step: "4", loss: "1" }), 80)).toEqual(["      4           1"]);
});

test("columns without room are counted, and come when there is room again", () => {
  const table = new Table(["step"], 99, plain);
  expect(table.row(cells({ step: "1", a: "1", b: "2", c: "3" }), 36)).toEqual([
    "   step           a           b +1",
    "      1           1           2",
  ]);
  expect(table.row(cells({ step: "2", a: "1", b: "2", c: "3" }), 80)).toHaveLength(2);
});

test("what is not a number is red", () => {
  const table = new Table(["step"], 99, { color: true, unicode: true });
  expect(table.row(cells({ step: "1", loss: "NaN" }), 80)[1]).toBe(
    "      1  \u001B[1m\u001B[31m       NaN\u001B[39m\u001B[22m",
  );
});
