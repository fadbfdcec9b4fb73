// A predictor over tensors: rows alone and together give the same, bad rows are named, and nothing is left behind.
import { afterEach, expect, test } from "vitest";
import { NativeEngine } from "../engines/native/native-engine.ts";
import { embedding, linear } from "../nn/basic.ts";
import { sequential } from "../nn/block.ts";
import { relu } from "../nn/activations.ts";
import { initKey } from "../nn/key.ts";
import type { Model } from "../core/model.ts";
import { selectEngine } from "../engines/select.ts";
import { testEngine } from "../testing/tiny.ts";
import { Rng } from "../data/random.ts";
import { DEFAULT_BATCH_SIZES } from "./batch-sizes.ts";
import { InputError } from "./input-error.ts";
import { makePredictor } from "./predictor.ts";
import { TensorCodec } from "./tensor-codec.ts";
import type { Predictor, TensorSpec } from "./types.ts";
import type { Engine } from "../engines/engine.ts";

const open: Predictor[] = [];
afterEach(async () => {
  for (const predict of open.splice(0)) await predict.close();
});

interface Made {
  readonly model?: Model<never>;
  readonly inputs?: Readonly<Record<string, TensorSpec>>;
  readonly engine?: Engine;
  readonly batchSizes?: readonly number[];
}

async function make({ model = sequential(linear(3, 8), relu(), linear(8, 2)), ...more }: Made = {}) {
  const { inputs = { x: { shape: [null, 3], dtype: "float32" } }, batchSizes = DEFAULT_BATCH_SIZES } = more;
  const predict = makePredictor({
    trained: { model, params: model.init(initKey(1)), state: model.initState?.() ?? {}, inputs: (batch) => batch.x! },
    codec: new TensorCodec(inputs, undefined),
    engine: more.engine ?? (await selectEngine(testEngine())),
    ownsEngine: more.engine === undefined,
    batchSizes,
    deadline: 0,
    source: "test",
    metrics: {},
  });
  open.push(predict);
  return predict;
}

const rng = new Rng(7);
const rows = Array.from({ length: 300 }, () => ({ x: [rng.normal(), rng.normal(), rng.normal()] }));
const numbers = (prediction: object): number[] => [...(prediction as { output: Float32Array }).output];
const expectClose = (a: number[], b: number[]): void => a.forEach((value, i) => expect(value).toBeCloseTo(b[i]!, 5));

test("one row, many rows, more rows than a batch, and columns give the same", async () => {
  const predict = await make();
  const alone: number[][] = [];
  for (const row of rows) alone.push(numbers(await predict(row)));
  const together = await predict(rows);
  expect(together).toHaveLength(300);
  const columns = await predict.columns({
    x: { data: Float32Array.from(rows.flatMap(({ x }) => x)), shape: [300, 3] },
  });
  const output = columns.output as { data: Float32Array; shape: number[] };
  expect(output.shape).toEqual([300, 2]);
  for (const [i, one] of alone.entries()) {
    expectClose(numbers(together[i]!), one);
    expectClose([...output.data.subarray(2 * i, 2 * i + 2)], one);
  }
  expect(await predict([])).toEqual([]);
});

test("concurrent calls are batched together", async () => {
  const predict = await make();
  const alone: number[][] = [];
  for (const row of rows.slice(0, 100)) alone.push(numbers(await predict(row)));
  const before = predict.stats.batches;
  const answers = await Promise.all(rows.slice(0, 100).map((row) => predict(row)));
  expect(predict.stats.batches - before).toBe(1);
  for (const [i, answer] of answers.entries()) expectClose(numbers(answer), alone[i]!);
  expect(predict.stats).toMatchObject({ rows: 200, pending: 0 });
});

test("batches are padded to the given sizes", async () => {
  const predict = await make({ batchSizes: [4, 64] });
  expect((await predict(rows)).length).toBe(300);
  expect(predict.stats.batches).toBe(5);
});

test.each<[string, unknown, string]>([
  ["a missing input", { y: [1, 2, 3] }, "Row 0, column `x`: it is missing."],
  ["too few numbers", { x: [1, 2] }, "Row 0, column `x`: expected numbers of shape [3], got `[1, 2]` (array)."],
  ["a string", { x: [1, 2, "3"] }, "Row 0, column `x`: expected numbers of shape [3]"],
  ["a number for a vector", { x: 1 }, "Row 0, column `x`: expected numbers of shape [3], got `1` (number)."],
  ["NaN", { x: [1, 2, NaN] }, "Row 0, column `x`: expected numbers of shape [3]"],
  ["no object", 3, "Row 0: expected an object of inputs by name, got `3` (number)."],
  ["deep nesting", { x: JSON.parse("[".repeat(5000) + "]".repeat(5000)) as unknown }, "Row 0, column `x`: expected"],
  ["a polluting key", JSON.parse('{"__proto__": {"x": [1, 2, 3]}}'), "Row 0, column `x`: it is missing."],
])("%s is refused", async (_name, row, message) => {
  const predict = await make();
  const error = await predict(row as { x: unknown }).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(InputError);
  expect((error as Error).message).toContain(message);
});

/** Squares its input: 1e30 becomes infinite. */
const squares: Model = {
  init: () => ({ scale: { data: Float32Array.of(1), shape: [1] } }),
  apply: ({ scale }, x) => x.ref.mul(x).mul(scale!),
};

test("a bad row of many is named by its position", async () => {
  const predict = await make({ model: squares, batchSizes: [4] });
  const huge = rows.slice(0, 10).map((row, i) => (i === 7 ? { x: [1, 1e30, 1] } : row));
  await expect(predict(huge)).rejects.toMatchObject({ row: 7, name: "InputError" });
  await expect(predict(huge)).rejects.toThrow("the model's output `output` is Infinity, not a finite number");
  const text = rows.slice(0, 10).map((row, i) => (i === 7 ? { x: "no" } : row));
  await expect(predict(text)).rejects.toMatchObject({ row: 7, column: "x" });
});

test("ids outside of a table are refused, in the first batch too", async () => {
  const model = embedding(10, 3);
  const predict = await make({ model, inputs: { x: { shape: [null], dtype: "int32" } } });
  await expect(predict([{ x: 3 }, { x: 10 }])).rejects.toMatchObject({ row: 1, column: "x" });
  expect(await predict({ x: 3 })).toMatchObject({ output: expect.any(Float32Array) as unknown });
  await expect(predict({ x: -1 })).rejects.toThrow(
    "id -1 is outside the table of embedding(10, 3), whose ids are 0 to 9",
  );
});

test("warmUp compiles every size, and a model without stated inputs says so", async () => {
  const predict = await make({ batchSizes: [1, 2] });
  await predict.warmUp();
  expect(predict.stats.rows).toBe(0);
});

test("close waits for pending calls, and later calls are refused", async () => {
  const predict = await make();
  const pending = predict(rows);
  await predict.close();
  expect(await pending).toHaveLength(300);
  await expect(predict(rows[0]!)).rejects.toThrow("The predictor of test is closed.");
});

test("memory stays flat on the native engine, with bad rows between good ones", async () => {
  const engine = new NativeEngine({ threads: 1, warn: () => undefined });
  const predict = await make({ engine });
  await predict.warmUp();
  const before = engine.bytesInUse;
  for (let i = 0; i < 300; i++) {
    await predict(rows.slice(0, 1 + (i % 17)));
    await predict({ x: [1, 2, 3e38 * 10] }).catch(() => undefined);
    await predict({ x: [3e38, 3e38, 3e38] }).catch(() => undefined);
  }
  expect(engine.bytesInUse).toBe(before);
  await predict.close();
  await engine.close();
});
