// Fitted preprocessors as JSON: the same bits come back, and damaged or hostile JSON is an error of ours.
import { describe, expect, test } from "vitest";
import { Rng } from "../random.ts";
import { Table } from "../table/table.ts";
import { dateParts, hashedText, hashing, impute, minMax, oneHot, ordinal, quantile, vocabulary } from "./index.ts";
import { DataError } from "../../core/errors.ts";
import { Preprocessor } from "./preprocessor.ts";

const rng = new Rng(5);
const rows = 200;
const list = <T>(one: (i: number) => T): T[] => Array.from({ length: rows }, (_, i) => one(i));
const table = Table.fromColumns({
  a: list(() => rng.normal() / 3),
  b: list(() => (rng.next() < 0.3 ? null : rng.next() * 1e-7)),
  c: list(() => Math.exp(rng.normal())),
  d: list(() => rng.int(4)),
  plan: list(() => ["a", "b", "c", null, "__proto__", "ü"][rng.int(6)]!),
  since: list(() => new Date(1.7e12 + rng.next() * 1e10)),
  note: list(() => "some words in a row ".repeat(rng.int(3))),
  constructor: list((i) => i % 3 === 0),
  price: list(() => rng.next() * 1e6),
});

const preprocessor = new Preprocessor({
  columns: {
    a: "standardise",
    b: [impute({ strategy: "mean", indicator: true }), minMax({ min: -1, max: 1, clip: true })],
    c: ["log", quantile({ quantiles: 50, output: "normal" })],
    d: oneHot({ maxCategories: 3, unknown: "error" }),
    plan: [impute({ strategy: "mostFrequent" }), ordinal({ minCount: 2 })],
    since: dateParts({ parts: ["time", "month", "hour"] }),
    note: hashedText({ size: 16, ngrams: [1, 2] }),
    constructor: hashing({ size: 4 }),
  },
  target: { column: "price", use: ["log", "standardise"] },
}).fit(table);

const copyOf = (json: unknown): Preprocessor => Preprocessor.fromJSON(JSON.parse(JSON.stringify(json)));

describe("round trip", () => {
  test("the copy gives the same bits and the same JSON", () => {
    const copy = copyOf(preprocessor);
    expect(copy.transform(table)).toEqual(preprocessor.transform(table));
    expect(JSON.stringify(copy)).toBe(JSON.stringify(preprocessor));
    expect(copy.fingerprint).toBe(preprocessor.fingerprint);
    expect(copy.inputs).toEqual(preprocessor.inputs);
    const outputs = { data: Float32Array.from([0.25, -1]), shape: [2, 1] };
    expect(copy.decode(outputs)).toEqual(preprocessor.decode(outputs));
  });

  test("the copy can be fitted again, with the transforms that were chosen", () => {
    const fitted = new Preprocessor({ columns: "auto", target: "price" }).fit(table);
    const copy = copyOf(fitted);
    expect(copy.choices).toEqual(fitted.choices);
    expect(copy.fit(table).featureNames).toEqual(fitted.featureNames);
  });

  test("the fingerprint changes with the data", () => {
    const other = new Preprocessor({ columns: { a: "standardise" } });
    expect(other.fit(table.slice(1)).fingerprint).not.toBe(other.fit(table).fingerprint);
  });

  test("rows are transformed alike alone, in small parts and by a copy", () => {
    const whole = preprocessor.transform(table);
    const copy = copyOf(preprocessor);
    for (const size of [1, 7, 64]) {
      for (let from = 0; from < rows; from += size) {
        const part = copy.transform(table.slice(from, from + size));
        for (const [name, { data, shape }] of Object.entries(part)) {
          const width = shape[1] ?? 1;
          expect(data).toEqual(whole[name]!.data.subarray(from * width, from * width + data.length));
        }
      }
    }
  });

  test("nothing is learnt from rows that are not given: names of other rows are in the same dictionary", () => {
    const half = table.slice(0, 100);
    const alone = Table.fromRows(
      Array.from({ length: 100 }, (_, i) => half.row(i)),
      half.schema,
    );
    const plan = new Preprocessor({ columns: "auto", target: "price" });
    const { fingerprint } = plan.fit(half);
    expect(plan.fit(alone).fingerprint).toBe(fingerprint);
    const only = table.take(Uint32Array.from({ length: rows }, (_, i) => i).filter((i) => table.row(i).plan === "a"));
    expect(new Preprocessor({ columns: { plan: "oneHot" } }).fit(only).featureNames).toEqual(["plan=a"]);
  });

  test("vocabularies too", () => {
    const words = new Preprocessor({ columns: { note: vocabulary({ length: 3 }) } }).fit(table);
    expect(copyOf(words).transform(table)).toEqual(words.transform(table));
  });
});

type Plain = Record<string, unknown> & { columns: Record<string, unknown>[] };
const plain = (): Plain => JSON.parse(JSON.stringify(preprocessor)) as Plain;

describe("hostile JSON", () => {
  test.each<[string, (json: Plain) => unknown, string]>([
    ["nothing", () => null, "it is not an object"],
    ["another file", () => ({ schema: "hookline.run", version: 1 }), "its `schema` is not hookline.preprocessor"],
    ["a newer version", (json) => ({ ...json, version: 2 }), "was written by a newer hookline"],
    ["no columns", (json) => ({ ...json, columns: [] }), "it has no `columns`"],
    ["a column twice", (json) => ({ ...json, columns: [json.columns[0], json.columns[0]] }), "the column `a` twice"],
    ["an unknown transform", (json) => edit(json, 0, { use: "__proto__" }), "there is no transform `__proto__`"],
    ["auto", (json) => edit(json, 0, { use: "auto" }), "`auto` has not been replaced"],
    ["no state", (json) => edit(json, 0, { state: undefined }), "the state of `standardise` is not an object"],
    [
      "a scale of 0",
      (json) => edit(json, 0, { state: { mean: 0, scale: 0 } }),
      "`scale` in the state of `standardise` is not a number > 0",
    ],
    [
      "a text for a number",
      (json) => edit(json, 0, { state: { mean: "0", scale: 1 } }),
      "`mean` in the state of `standardise`",
    ],
    [
      "huge options",
      (json) => edit(json, 7, { options: { size: 1e15 } }),
      "Expected `size` to be a whole number from 1 to 1048576",
    ],
    ["an unknown option", (json) => edit(json, 7, { options: { sise: 3 } }), "unknown option `sise`"],
    [
      "quantiles in disorder",
      (json) => ({ ...json, columns: [withStep(json.columns[2]!, 1, { state: { quantiles: [2, 1] } })] }),
      "not sorted",
    ],
    [
      "a transform of another type",
      (json) => edit(json, 0, { use: "dateParts", options: {} }),
      "`dateParts` cannot stand where it does",
    ],
    ["a wrong type", (json) => ({ ...json, columns: [{ ...json.columns[0], type: "float" }] }), "`a` has no type"],
    [
      "a fill of another type",
      (json) => ({ ...json, columns: [withStep(json.columns[1]!, 0, { state: { fill: "x" } })] }),
      "not of the column's type",
    ],
  ])("%s", (_, change, message) => {
    expect(() => Preprocessor.fromJSON(change(plain()))).toThrow(message);
  });

  test("whatever is changed in it, it is read or refused with an error of ours, and never gives NaN", () => {
    const strange = [null, -1, 1e308, "x", [], {}, true, "__proto__", 2 ** 53, [NaN], { length: 1e9 }];
    let refused = 0;
    for (let round = 0; round < 600; round++) {
      const json = plain();
      mutate(json, strange);
      try {
        const read = Preprocessor.fromJSON(json);
        const { x } = read.transform(table.slice(0, 20), { target: false });
        expect(x!.data.every((value) => Number.isFinite(value))).toBe(true);
      } catch (error) {
        expect(error, String((error as Error).stack)).toBeInstanceOf(DataError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(300);
  });
});

const withStep = (column: Record<string, unknown>, at: number, change: object): Record<string, unknown> => ({
  ...column,
  steps: (column["steps"] as object[]).map((step, i) => (i === at ? { ...step, ...change } : step)),
});
const edit = (json: Plain, column: number, change: object): unknown => ({
  ...json,
  columns: json.columns.map((each, i) => (i === column ? withStep(each, 0, change) : each)),
});

/** Replaces one value, anywhere in it. */
function mutate(json: object, values: readonly unknown[]): void {
  let at = json as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(at);
    const key = keys[rng.int(keys.length)]!;
    const inner = at[key];
    if (typeof inner !== "object" || inner === null || Object.keys(inner).length === 0 || rng.next() < 0.15) {
      at[key] = values[rng.int(values.length)];
      return;
    }
    at = inner as Record<string, unknown>;
  }
}
