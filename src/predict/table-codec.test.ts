// Raw rows through a preprocessor: checked column by column, and predictions in the target's own terms.
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Model } from "../core/model.ts";
import { Preprocessor } from "../data/preprocess/preprocessor.ts";
import { Table } from "../data/table/table.ts";
import { linear } from "../nn/basic.ts";
import { initKey } from "../nn/key.ts";
import { selectEngine } from "../engines/select.ts";
import { testEngine } from "../testing/tiny.ts";
import { DEFAULT_BATCH_SIZES } from "./batch-sizes.ts";
import { InputError } from "./input-error.ts";
import { makePredictor } from "./predictor.ts";
import { TableCodec } from "./table-codec.ts";
import { TensorCodec } from "./tensor-codec.ts";
import type { InputRow, Predictor } from "./types.ts";

const train = Table.fromRows(
  Array.from({ length: 60 }, (_, i) => ({
    age: 20 + (i % 40),
    plan: ["basic", "pro", "team"][i % 3]!,
    active: i % 2 === 0,
    since: new Date(Date.UTC(2020, i % 12, 1 + (i % 28))),
    price: 100 + i,
    churn: i % 4 === 0 ? "yes" : "no",
  })),
  { age: "number", plan: "string", active: "boolean", since: "date", price: "number", churn: "string" },
);

const COLUMNS = { age: "standardise", plan: "oneHot", active: "passThrough", since: "dateParts" } as const;
const row = { age: 31, plan: "pro", active: true, since: "2021-03-04" };

const open: Predictor[] = [];
afterEach(async () => {
  for (const predict of open.splice(0)) await predict.close();
});

async function make(preprocessor: Preprocessor): Promise<Predictor> {
  const model = linear(preprocessor.width, preprocessor.outputWidth!) as Model<never>;
  const inputs = { x: { shape: [null, preprocessor.width], dtype: "float32" as const } };
  const predict = makePredictor({
    trained: { model, params: model.init(initKey(3)), state: {}, inputs: (batch) => batch.x! },
    codec: new TableCodec(Preprocessor.fromJSON(preprocessor.toJSON()), new TensorCodec(inputs, undefined)),
    engine: await selectEngine(testEngine()),
    ownsEngine: true,
    batchSizes: DEFAULT_BATCH_SIZES,
    deadline: 0,
    source: "test",
    metrics: {},
  });
  open.push(predict);
  return predict;
}

const labels = (): Promise<Predictor> => make(new Preprocessor({ columns: COLUMNS, target: "churn" }).fit(train));

test("a label with the probability of each name", async () => {
  const predict = await labels();
  const { churn, probabilities } = (await predict(row)) as {
    churn: string;
    probabilities: { yes: number; no: number };
  };
  expect(Object.keys(probabilities).toSorted()).toEqual(["no", "yes"]);
  expect(probabilities.yes + probabilities.no).toBeCloseTo(1, 6);
  expect(churn).toBe(probabilities.yes > probabilities.no ? "yes" : "no");
  expect(predict.signature).toEqual({
    inputs: { age: { type: "number" }, plan: { type: "string" }, active: { type: "boolean" }, since: { type: "date" } },
    outputs: {
      churn: { type: "label", names: ["no", "yes"] },
      probabilities: { type: "probabilities", names: ["no", "yes"] },
    },
  });
});

test("a number in the target's own unit", async () => {
  const preprocessor = new Preprocessor({ columns: COLUMNS, target: { column: "price", use: "standardise" } }).fit(
    train,
  );
  const predict = await make(preprocessor);
  const { price } = (await predict(row)) as { price: number };
  expect(price).toBeGreaterThan(-200);
  const { price: column } = await predict.columns({ age: [31], plan: ["pro"], active: [true], since: ["2021-03-04"] });
  expect((column as Float64Array)[0]).toBeCloseTo(price, 3);
});

test("rows, columns and a table give the same, with other columns beside them", async () => {
  const predict = await labels();
  const rows = Array.from({ length: 300 }, (_, i) => ({
    ...row,
    age: 20 + (i % 50),
    plan: i % 2 ? "pro" : "team",
    id: i,
  }));
  const found = await predict(rows);
  const columns = Object.fromEntries(Object.keys(row).map((name) => [name, rows.map((each) => each[name as "age"])]));
  const table = Table.fromRows(rows, { ...predictSchema });
  for (const given of [columns, table]) {
    const { churn, probabilities } = await predict.columns(given);
    expect(churn).toEqual(found.map((each) => each.churn));
    const yes = (probabilities as Record<string, Float64Array>).yes!;
    for (const [i, each] of found.entries()) expect(yes[i]).toBeCloseTo((each.probabilities as { yes: number }).yes, 5);
  }
});
const predictSchema = { age: "number", plan: "string", active: "boolean", since: "date" } as const;

describe("a row that the model cannot take names the row and the column", () => {
  const { age: _, ...withoutAge } = row;
  test.each<[string, unknown, string | undefined, string]>([
    [
      "a missing column",
      { ...withoutAge, agee: 3 },
      "age",
      "it is missing. Did you mean `agee`? A value that is not known is null.",
    ],
    ["a string for a number", { ...row, age: "31" }, "age", 'expected a number, got `"31"` (string).'],
    ["a number for a string", { ...row, plan: 3 }, "plan", "expected a string, got `3` (number)."],
    ["a number for a boolean", { ...row, active: 1 }, "active", "expected true or false, got `1` (number)."],
    ["a text that is no date", { ...row, since: "yesterday" }, "since", "expected an ISO 8601 date"],
    ["an infinite number", { ...row, age: Infinity }, "age", "expected a number, got `Infinity` (number)."],
    ["an object in a cell", { ...row, plan: { toString: "x" } }, "plan", "expected a string, got an object (Object)."],
    ["a list", [1, 2], undefined, "expected an object with a value for each column"],
    ["null", null, undefined, "expected an object with a value for each column, got `null`."],
    ["a polluted row", JSON.parse(`{"__proto__": ${JSON.stringify(row)}}`), "age", "it is missing."],
  ])("%s", async (_name, bad, column, problem) => {
    const predict = await labels();
    const error = await predict([row, bad as InputRow]).catch((each: unknown) => each);
    expect(error).toMatchObject({ name: "InputError", row: 1, column });
    expect((error as Error).message).toContain(problem);
  });
});

test("a missing value where no transform takes one names the row and the column too", async () => {
  const predict = await labels();
  await expect(predict([row, { ...row, age: null }])).rejects.toMatchObject({ row: 1, column: "age" });
  await expect(predict([row, { ...row, age: NaN }])).rejects.toMatchObject({ row: 1, column: "age" });
  expect(await predict(row)).toHaveProperty("churn");
});

test("with imputation a missing value is predicted for, and an unknown category as the preprocessor says", async () => {
  const preprocessor = new Preprocessor({
    columns: { age: ["impute", "standardise"], plan: "oneHot" },
    target: "churn",
  });
  const predict = await make(preprocessor.fit(train));
  expect(await predict({ age: null, plan: "gold" })).toHaveProperty("churn");
});

test("whatever a client sends is predicted for, or refused with its place", async () => {
  const predict = await labels();
  const cell = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("basic", "2021-02-03", 3e38, -1e308, 31, true, null),
  );
  const anyRow = fc.record({ age: cell, plan: cell, active: cell, since: cell, __proto__: cell }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(anyRow, fc.jsonValue({ maxDepth: 3 })), { maxLength: 4 }), async (rows) => {
      const found = await predict(rows as InputRow[]).catch((error: unknown) => error);
      if (found instanceof Error) {
        expect(found).toBeInstanceOf(InputError);
        expect((found as InputError).row).toBeLessThan(rows.length);
      } else
        for (const { probabilities } of found as { probabilities: object }[])
          for (const value of Object.values(probabilities)) expect(value).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 300 },
  );
  expect(({} as { age?: unknown }).age).toBeUndefined();
});
