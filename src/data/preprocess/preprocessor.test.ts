// Preprocessing as a whole: what a table becomes, what auto chooses, and which mistakes are errors. The numbers of each
// transform are compared with scikit-learn's in tests/interop/preprocess-sklearn.test.ts.
import { describe, expect, test } from "vitest";
import { Table } from "../table/table.ts";
import { dateParts, impute, minMax, oneHot, ordinal, vocabulary } from "./index.ts";
import type { PreprocessorOptions } from "./options.ts";
import { Preprocessor } from "./preprocessor.ts";

const customers = Table.fromRows([
  {
    id: "c-1",
    age: 20,
    plan: "basic",
    since: new Date("2024-01-01"),
    active: true,
    churn: "yes",
    note: "wants a refund now",
  },
  {
    id: "c-2",
    age: null,
    plan: "pro",
    since: new Date("2024-07-02"),
    active: false,
    churn: "no",
    note: "is happy so far",
  },
  { id: "c-3", age: 40, plan: null, since: new Date("2024-12-31"), active: true, churn: "no", note: null },
  {
    id: "c-4",
    age: 60,
    plan: "basic",
    since: new Date("2025-01-01"),
    active: true,
    churn: "yes",
    note: "wants a call please",
  },
]);

const fitted = (options: PreprocessorOptions, table = customers): Preprocessor => new Preprocessor(options).fit(table);
const features = (options: PreprocessorOptions, table = customers): Record<string, number[]> => {
  const preprocessor = fitted(options, table);
  const { data, shape } = preprocessor.transform(table).x!;
  const column = (at: number): number[] => Array.from({ length: shape[0]! }, (_, row) => data[row * shape[1]! + at]!);
  return Object.fromEntries(preprocessor.featureNames.map((name, at) => [name, column(at)]));
};

describe("transform", () => {
  test("columns become features in the order in which they are written", () => {
    const made = features({
      columns: {
        plan: "oneHot",
        age: [impute({ strategy: "median", indicator: true }), minMax()],
        active: "passThrough",
      },
    });
    expect(made).toEqual({
      "plan=basic": [1, 0, 0, 1],
      "plan=pro": [0, 1, 0, 0],
      "plan=(missing)": [0, 0, 1, 0],
      age: [0, 0.5, 0.5, 1],
      "age=(missing)": [0, 1, 0, 0],
      active: [1, 0, 1, 1],
    });
  });

  test("`*` stands for all columns that are not named", () => {
    const made = features({ columns: { "*": "drop", age: [impute(), "passThrough"] }, target: "churn" });
    expect(made).toEqual({ age: [20, 40, 40, 60] });
  });

  test("parts of dates that repeat are points on a circle", () => {
    const made = features({ columns: { since: dateParts({ parts: ["month", "weekday"] }) } });
    expect(made["since.month.sin"]!.map((value) => Math.round(value * 100) / 100)).toEqual([0, 0, -0.5, 0]);
    expect(made["since.month.cos"]!.map((value) => Math.round(value * 100) / 100)).toEqual([1, -1, 0.87, 1]);
    // Monday, Tuesday, Tuesday, Wednesday.
    expect(made["since.weekday.cos"]!.map((value) => Math.round(value * 1e4) / 1e4)).toEqual([
      1, 0.6235, 0.6235, -0.2225,
    ]);
  });

  test("a vocabulary writes ids into a field of its own", () => {
    const preprocessor = fitted({ columns: { note: vocabulary({ length: 5, size: 4, field: "words" }) } });
    const { words, ...rest } = preprocessor.transform(customers);
    expect(rest).toEqual({});
    expect(preprocessor.width).toBe(0);
    // `a` and `wants` occur twice, and two ids are left for words.
    expect(words).toEqual({
      shape: [4, 5],
      data: Int32Array.from([3, 2, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 3, 2, 1, 1, 0]),
    });
  });

  test("weights are a field, and neither they nor `y` are made for rows to predict for", () => {
    const table = Table.fromRows([
      { x: 1, y: "a", w: 0.5 },
      { x: 2, y: "b", w: 2 },
    ]);
    const preprocessor = fitted({ columns: "auto", target: "y", weights: "w" }, table);
    expect(preprocessor.featureNames).toEqual(["x"]);
    expect(preprocessor.transform(table).weight).toEqual({ data: Float32Array.from([0.5, 2]), shape: [2] });
    expect(Object.keys(preprocessor.transform(Table.fromRows([{ x: 3 }]), { target: false }))).toEqual(["x"]);
    expect(preprocessor.inputs).toEqual({ x: "number" });
  });

  test("more rows than a block are transformed like few", () => {
    const rows = 5000;
    const table = Table.fromColumns({
      a: Float64Array.from({ length: rows }, (_, i) => i),
      b: Array.from({ length: rows }, (_, i) => `c${i % 7}`),
    });
    const preprocessor = fitted({ columns: { a: "standardise", b: "oneHot" } }, table);
    const whole = preprocessor.transform(table).x!;
    const last = preprocessor.transform(table.slice(4990)).x!;
    expect([...whole.data.subarray(4990 * 8)]).toEqual([...last.data]);
  });
});

describe("auto", () => {
  test("chooses by type and contents, and says why", () => {
    const preprocessor = fitted({ columns: "auto", target: "churn" });
    expect(preprocessor.choices).toEqual([
      "id: drop (every row has another text, as a name has)",
      'age: impute({ strategy: "median", indicator: true }), standardise (number, 25 % missing)',
      "plan: oneHot (text with 2 different values, 25 % missing)",
      "since: dateParts (date)",
      "active: passThrough (boolean)",
      "note: hashedText (text of 4 words on average, 25 % missing)",
      "churn: label (text: classes, for crossEntropy)",
    ]);
    expect(Object.keys(preprocessor.inputs)).toEqual(["age", "plan", "since", "active", "note"]);
  });

  test("leaves out columns that say nothing", () => {
    const table = Table.fromColumns({
      empty: new Float64Array(3).fill(NaN),
      same: [1, 1, 1],
      text: ["a", "a", "a"],
      x: [1, 2, 3],
    });
    expect(fitted({ columns: "auto" }, table).choices).toEqual([
      "empty: drop (no row has a value)",
      "same: drop (every row has the same value)",
      "text: drop (every row has the same value)",
      "x: standardise (number)",
    ]);
  });

  test("leaves out whole numbers that count the rows", () => {
    const rows = Array.from({ length: 30 }, (_, i) => i);
    const table = Table.fromColumns({
      id: rows.map((i) => 1000 + 3 * i),
      price: rows.map((i) => i + 0.5),
      shuffled: rows.map((i) => (7 * i) % 30),
    });
    expect(fitted({ columns: "auto" }, table).choices).toEqual([
      "id: drop (whole numbers that count the rows, as an id does)",
      "price: standardise (number)",
      "shuffled: standardise (number)",
    ]);
  });

  test("an empty text is missing in rows as it is in a CSV file", () => {
    const { columns } = Table.fromRows([{ plan: "" }, { plan: "pro" }], { plan: "string" });
    expect(columns.plan).toEqual({ type: "string", codes: Int32Array.of(-1, 0), names: ["pro"] });
  });

  test("a number is standardised as a target, unless it is 0 or 1", () => {
    const table = Table.fromRows([
      { x: 1, price: 100, bought: 0 },
      { x: 2, price: 300, bought: 1 },
    ]);
    expect(fitted({ columns: { x: "auto" }, target: "price" }, table).target).toEqual({
      column: "price",
      kind: "number",
    });
    expect(fitted({ columns: { x: "auto" }, target: "bought" }, table).target).toEqual({
      column: "bought",
      kind: "label",
      names: ["0", "1"],
    });
  });
});

describe("decode", () => {
  const labels = (): Preprocessor => fitted({ columns: { plan: "oneHot" }, target: "churn" });
  const f32 = (values: readonly number[], ...shape: number[]) => ({ data: Float32Array.from(values), shape });

  test("classes with their probabilities, by softmax or of one output by the sigmoid", () => {
    const two = labels().decode(f32([0, Math.log(3), 1000, -1000], 2, 2));
    expect(two).toMatchObject({ kind: "label", column: "churn", labels: ["yes", "no"] });
    if (two.kind !== "label") throw new Error("not classes");
    expect(two.probabilities.yes![0]).toBeCloseTo(0.75, 6);
    expect([...two.probabilities.no!]).toEqual([expect.closeTo(0.25, 6) as number, 1]);
    expect(labels().decode(f32([2, -1], 2, 1))).toMatchObject({ labels: ["yes", "no"] });
  });

  test("numbers in their own unit", () => {
    const table = Table.fromRows([
      { x: 1, price: 100 },
      { x: 2, price: 300 },
    ]);
    const preprocessor = fitted(
      { columns: { x: "standardise" }, target: { column: "price", use: ["log", "standardise"] } },
      table,
    );
    const { y } = preprocessor.transform(table);
    expect(y!.shape).toEqual([2, 1]);
    const decoded = preprocessor.decode(y!);
    expect(decoded.kind === "number" && [...decoded.values].map(Math.round)).toEqual([100, 300]);
  });

  test("outputs that do not fit, or are not finite, are errors", () => {
    expect(() => labels().decode(f32([1, 2, 3], 1, 3))).toThrow(
      "outputs have shape [1, 3], and for `churn` each row needs 2, or 1.",
    );
    expect(() => labels().decode(f32([1, NaN], 1, 2))).toThrow("the model's output for row 0 is NaN");
    expect(() => fitted({ columns: "auto" }).decode(f32([1], 1))).toThrow("it has no target");
  });
});

describe("mistakes", () => {
  const t = (rows: object[]): Table => Table.fromRows(rows, undefined, "new.csv");
  test.each<[string, () => unknown, string]>([
    ["not fitted", () => new Preprocessor({ columns: "auto" }).transform(customers), "call fit(train) first"],
    ["no rows", () => fitted({ columns: "auto" }, customers.slice(0, 0)), "table has no rows to learn from"],
    [
      "an unknown column",
      () => fitted({ columns: { aeg: "standardise" } }),
      "has no column `aeg`. Did you mean `age`?",
    ],
    [
      "a transform with a typo",
      () => fitted({ columns: { age: "standardize" as never } }),
      "`age`: there is no transform `standardize`. Did you mean `standardise`?",
    ],
    [
      "a factory that is not called",
      () => fitted({ columns: { age: oneHot as never } }),
      "Is it to be called, as in oneHot()?",
    ],
    [
      "a gap without impute",
      () => fitted({ columns: { age: "standardise" } }),
      "row 1 of table: `age` is missing, and `standardise` needs a value. Fill gaps first: [impute, standardise].",
    ],
    [
      "text for numbers",
      () => fitted({ columns: { n: "standardise" } }, t([{ n: "1" }, { n: "many" }])),
      'new.csv: `n` is text, and `standardise` takes numbers, booleans, dates. row 1 of new.csv has "many".',
    ],
    [
      "only gaps",
      () => fitted({ columns: { n: ["impute", "standardise"] } }, Table.fromColumns({ n: [NaN, NaN].map(Number) })),
      "`n` has no value in any row of the training data.",
    ],
    ["text that is left text", () => fitted({ columns: { plan: "impute" } }), "`plan` is still text after `impute`"],
    [
      "a transform after features",
      () => fitted({ columns: { plan: ["oneHot", "standardise"] } }),
      "`oneHot` makes features, so `standardise` cannot follow it",
    ],
    [
      "a mean of text",
      () => fitted({ columns: { plan: [impute({ strategy: "mean" }), oneHot()] } }),
      '`plan` has no mean: its type is string. Use impute({ strategy: "mostFrequent" })',
    ],
    [
      "auto and others",
      () => fitted({ columns: { plan: ["auto", "standardise"] } }),
      "`auto` chooses all transforms of a column, and stands alone",
    ],
    [
      "the target among columns",
      () => fitted({ columns: { churn: "oneHot" }, target: "churn" }),
      "the model would be given what it is to predict",
    ],
    ["a label that is no target", () => fitted({ columns: { churn: "label" } }), "`label` is for the target"],
    [
      "a target that cannot be inverted",
      () => fitted({ columns: { age: "auto" }, target: { column: "churn", use: "oneHot" } }),
      "cannot be turned back from its transforms",
    ],
    [
      "one class",
      () => fitted({ columns: { age: "auto" }, target: "churn" }, customers.slice(1, 3)),
      "only one class in the training data, `no`",
    ],
    [
      "many categories",
      () => fitted({ columns: { id: "oneHot" } }, t(Array.from({ length: 1001 }, (_, i) => ({ id: `c${i}` })))),
      "has 1001 categories",
    ],
    [
      "log below −1",
      () => fitted({ columns: { n: ["log", "standardise"] } }, t([{ n: 1 }, { n: -5 }])),
      "row 1 of new.csv: `n` is -5, and `log`, which is log(1 + x), needs more than −1.",
    ],
    [
      "beyond float32",
      () => fitted({ columns: { n: "passThrough" } }, t([{ n: 1 }, { n: 1e300 }])).transform(t([{ n: 1e300 }])),
      "row 0 of new.csv: `n` is 1e+300 as a feature, which float32 cannot hold.",
    ],
    [
      "too large to learn from",
      () => fitted({ columns: { n: "standardise" } }, t([{ n: 1e200 }, { n: -1e200 }])),
      "has numbers too large for `standardise`",
    ],
    [
      "an unknown category",
      () => fitted({ columns: { plan: oneHot({ unknown: "error" }) } }).transform(t([{ plan: "por" }])),
      'row 0 of new.csv: `plan` is "por", which the training data did not have. Did you mean `pro`? It had: basic, pro.',
    ],
    [
      "an unknown class",
      () => fitted({ columns: { age: "auto" }, target: "churn" }).transform(t([{ age: 1, churn: "maybe" }])),
      '`churn` is "maybe", which the training data did not have.',
    ],
    [
      "a missing target",
      () =>
        fitted({ columns: { age: "auto" }, target: "churn" }).transform(
          t([
            { age: 1, churn: "no" },
            { age: 2, churn: null },
          ]),
        ),
      "row 1 of new.csv: the target `churn` is missing. Leave out rows without one.",
    ],
    [
      "a missing column",
      () => fitted({ columns: { plan: "oneHot" } }).transform(t([{ paln: "basic" }])),
      "new.csv has no column `plan`. Did you mean `paln`?",
    ],
    [
      "another type",
      () => fitted({ columns: { plan: "oneHot" } }).transform(t([{ plan: 3 }])),
      "`plan` is a column of type number, and was of type string in the training data.",
    ],
    [
      "a gap in new rows",
      () => fitted({ columns: { active: "passThrough" } }).transform(t([{ active: true }, { active: null }])),
      "row 1 of new.csv: `active` is missing",
    ],
    [
      "a negative weight",
      () =>
        fitted(
          { columns: { x: "auto" }, weights: "w" },
          t([
            { x: 1, w: 1 },
            { x: 2, w: -1 },
          ]),
        ).transform(t([{ x: 1, w: -1 }])),
      "row 0 of new.csv: the weight `w` is -1. Expected a number ≥ 0.",
    ],
    [
      "two vocabularies in one field",
      () => fitted({ columns: { note: vocabulary(), id: vocabulary() } }),
      "two columns write the field `tokens`",
    ],
    [
      "a number for text",
      () => fitted({ columns: { plan: [impute({ strategy: "constant", value: 3 }), oneHot()] } }),
      "`plan` cannot be filled with `3` (number): its type is string.",
    ],
    ["impute with half an option", () => impute({ value: 3 }), '`value` and `strategy: "constant"` go together'],
    ["a range that is none", () => minMax({ min: 1, max: 0 }), "`min` (1) must be less than `max` (0)"],
    ["nothing left", () => fitted({ columns: { id: "drop" } }), "no column of table is left to predict from"],
  ])("%s", (_, mistake, message) => {
    expect(mistake).toThrow(message);
  });

  test("a category that is not known is rare, or 0 in all features", () => {
    const rare = fitted({ columns: { plan: oneHot({ minCount: 2 }) } });
    expect(rare.featureNames).toEqual(["plan=basic", "plan=(rare)"]);
    const fresh = Table.fromRows([{ plan: "gold" }, { plan: "basic" }]);
    expect([...rare.transform(fresh).x!.data]).toEqual([0, 1, 1, 0]);
    expect([...fitted({ columns: { plan: oneHot() } }).transform(fresh).x!.data]).toEqual([0, 0, 0, 1, 0, 0]);
    expect([...fitted({ columns: { plan: ordinal() } }).transform(fresh).x!.data]).toEqual([0, 1]);
  });
});
