// Experiments on tables: the preprocessor is fitted on the training data of each training, and a run resumes only with
// the data that it was trained on.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { modelCheckpoint, type Hook, type HostTensors } from "hookline";
import { DataLoader, fittedPreprocessor, type HostArray, Preprocessor, Rng, Table } from "hookline/data";
import { buildExperiment, readConfig } from "hookline/config";
import { Experiment, type ExperimentOptions, type SplitData } from "hookline/experiment";
import {
  accuracy,
  bceWithLogits,
  binaryAccuracy,
  confusionMatrix,
  crossEntropy,
  f1,
  mlp,
  mse,
  rocAuc,
} from "hookline/nn";
import { adam } from "hookline/optim";
import { testEngine } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { readPage } from "../support/pages.ts";
import { tempDir } from "../support/temp-dir.ts";

/** Customers who leave when they are young and on the basic plan. */
function customers(rows = 200, seed = 1): Table {
  const rng = new Rng(seed);
  return Table.fromRows(
    Array.from({ length: rows }, () => {
      const age = 20 + rng.int(50);
      const plan = ["basic", "pro", "team"][rng.int(3)]!;
      const leaves = age < 45 && plan === "basic";
      return { age: rng.next() < 0.1 ? null : age, plan, spent: age * 10, leaves: leaves ? "yes" : "no" };
    }),
  );
}

/** The last quarter for test, the one before for validation. */
const inLine = (table: Table): SplitData<Table> => {
  const quarter = Math.floor(table.rowCount / 4);
  const [from, to] = [table.rowCount - 2 * quarter, table.rowCount - quarter];
  return { main: { train: table.slice(0, from), val: table.slice(from, to), test: table.slice(to) } };
};

const options = (more: Partial<ExperimentOptions<Table>> = {}): ExperimentOptions<Table> => ({
  data: () => customers(),
  split: inLine,
  preprocess: { columns: "auto", target: "leaves" },
  model: mlp({ hidden: [8] }),
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adam({ lr: 0.05 }),
  epochs: 10,
  engine: testEngine(),
  signals: false,
  ...more,
});

describe("a table", () => {
  test("gives metrics the names of the target's classes, and weights their rows", async () => {
    let text = "";
    const draw: Hook = { name: "draw", onEvalEnd: (ctx) => void (text = Object.values(ctx.figures)[0]!.text) };
    const metrics = { f1: f1({ perClass: true }), auc: rocAuc({ perClass: true }), confusion: confusionMatrix() };
    const preprocess = { columns: { age: "impute", plan: "oneHot" }, target: "leaves", weights: "spent" } as const;
    const loss = crossEntropy({ classWeights: "balanced" });
    const run = async (more: Partial<ExperimentOptions<Table>>) => {
      const { models } = await new Experiment(options({ metrics, loss, hooks: [draw], epochs: 2, ...more })).run();
      return models.model!.results;
    };
    const results = await run({ preprocess });
    expect(Object.keys(results).sort()).toEqual(["test/auc", "test/f1", "test/f1/no", "test/f1/yes", "test/loss"]);
    expect(text.split("\n")[1]).toMatch(/^actual +no +yes$/);
    expect(results["test/loss"]).not.toBe(
      (await run({ preprocess: { ...preprocess, weights: undefined } }))["test/loss"],
    );
    // Their own names come first.
    const named = { f1: f1({ perClass: true, names: ["stays", "leaves"] }), confusion: confusionMatrix() };
    expect(Object.keys(await run({ preprocess, metrics: named }))).toContain("test/f1/stays");
  });

  test("becomes arrays, and a model with widths that follow from it learns", async () => {
    const seen: Preprocessor[] = [];
    const hook: Hook = { name: "seen", onTrainBegin: ({ shared }) => void seen.push(shared.need(fittedPreprocessor)) };
    const { models } = await new Experiment(options({ hooks: [hook] })).run();
    expect(models.model!.results["test/accuracy"]).toBeGreaterThan(0.9);
    expect(seen[0]!.featureNames).toEqual(["age", "age=(missing)", "plan=basic", "plan=pro", "plan=team", "spent"]);
    // Of the training data alone.
    const train = inLine(customers()).main.train;
    const fitted = new Preprocessor({ columns: "auto", target: "leaves" }).fit(train);
    expect(seen[0]!.fingerprint).toBe(fitted.fingerprint);
  });

  test("each fold is preprocessed with what its own training data says", async () => {
    const means: number[] = [];
    const table = customers();
    const [first, second] = [table.slice(0, 100), table.slice(100)];
    await new Experiment(
      options({
        data: () => table,
        split: () => ({
          main: { train: table },
          folds: [
            { train: first, val: second },
            { train: second, val: first },
          ],
        }),
        preprocess: { columns: { plan: "oneHot" }, target: { column: "spent", use: "standardise" } },
        loss: mse(),
        metrics: {},
        epochs: 1,
        model(setup) {
          means.push((setup.preprocessor!.toJSON().target!.steps[0]!.state as { mean: number }).mean);
          expect(setup.datasets.train.x!.shape[1]).toBe(3);
          return mlp({ hidden: [2] })(setup);
        },
      }),
    ).run();
    const mean = ({ columns: { spent } }: Table): number => {
      if (spent?.type !== "number") throw new Error("no numbers");
      return spent.values.reduce((sum, value) => sum + value, 0) / spent.values.length;
    };
    // The first is of the check before the folds are trained.
    expect(means.slice(-3)).toEqual([first, second, table].map((part) => expect.closeTo(mean(part), 8) as number));
  });

  test("two classes may have one logit, and rows weights", async () => {
    const weighted = Table.fromRows(Array.from({ length: 200 }, (_, i) => ({ ...customers().row(i), w: 1 + (i % 2) })));
    const { models } = await new Experiment(
      options({
        data: () => weighted,
        preprocess: { columns: { "*": "auto" }, target: "leaves", weights: "w" },
        model: mlp({ hidden: [8], out: 1 }),
        loss: bceWithLogits(),
        metrics: { accuracy: binaryAccuracy() },
        async evaluate(trainer, { datasets, preprocessor }) {
          const { test: arrays } = datasets;
          expect(Object.keys(arrays!)).toEqual(["x", "y", "weight"]);
          const outputs = await trainer.predict(new DataLoader(arrays!, { batchSize: 50 }));
          const predicted = preprocessor!.decode(outputs as HostArray);
          if (predicted.kind !== "label") throw new Error("not classes");
          const names = (preprocessor!.target as { names: readonly string[] }).names;
          const right = predicted.labels.filter((name, row) => names[arrays!.y!.data[row]!] === name);
          return { right: right.length / predicted.labels.length };
        },
      }),
    ).run();
    expect(models.model!.results.right).toBeGreaterThan(0.9);
  });

  test("without `preprocess`, or data that is no table with it, is an error that says so", async () => {
    const { preprocess: _preprocess, ...without } = options();
    await expect(new Experiment(without).run()).rejects.toThrow(
      'the data is a table. Say how its columns become numbers: preprocess: { columns: "auto", target: … }.',
    );
    const arrays = { x: new Float32Array(4), y: new Float32Array(4) };
    const { data: _data, split: _split, ...rest } = options();
    await expect(new Experiment({ ...rest, data: () => arrays } as unknown as ExperimentOptions).run()).rejects.toThrow(
      "`preprocess` is for a table, and the training data is an object (Object).",
    );
    expect(() => new Experiment(options({ preprocess: { columns: { age: "standardize" as never } } }))).toThrow(
      "there is no transform `standardize`",
    );
  });

  test("a mistake in the data leaves no run behind", async () => {
    const runDir = join(tempDir(), "run");
    const experiment = new Experiment(
      options({ runDir, preprocess: { columns: { age: "standardise" }, target: "leaves" } }),
    );
    await expect(experiment.run()).rejects.toThrow(
      /row \d+ of table: `age` is missing, and `standardise` needs a value/,
    );
    expect(() => readFileSync(join(runDir, "results.json"))).toThrow("ENOENT");
    await expect(
      new Experiment(options({ model: mlp({ hidden: [4] }), preprocess: { columns: "auto" } })).run(),
    ).rejects.toThrow("mlp: missing option `out`: without a target in `preprocess` the data does not say it.");
  });

  test("preflight traces the preprocessed batch", async () => {
    const { model } = await new Experiment(options()).preflight();
    expect(model!.batches.train["train"]!.x!.shape).toEqual([32, 6]);
    expect(model!.batches.train["train"]!.y!.shape).toEqual([32]);
  });
});

describe("resume", () => {
  /** Ends at this step, as a signal would. */
  const run = async (
    runDir: string,
    stopAt: number | undefined,
    more: Partial<ExperimentOptions<Table>> = {},
    resume = false,
  ) => {
    const stop = new AbortController();
    let params: HostTensors = {};
    const hook: Hook = {
      name: "watcher",
      onStepEnd: ({ step }) => (step === stopAt ? stop.abort() : undefined),
      onTrainingComplete: async ({ trained }) => void (params = await trained.stateDict()),
    };
    const hooks = [modelCheckpoint({ every: "1 epochs" }), hook];
    const result = await new Experiment(options({ runDir, epochs: 4, ...more, hooks })).run({
      resume,
      signal: stop.signal,
    });
    return { status: result.status, params };
  };

  test("gives the same bits as a run that was not interrupted", async () => {
    const [whole, parts] = [join(tempDir(), "whole"), join(tempDir(), "parts")];
    const expected = await run(whole, undefined);
    expect(await run(parts, 6)).toMatchObject({ status: "interrupted" });
    expect(await run(parts, undefined, {}, true)).toEqual(expected);
  });

  test("a changed file, or changed preprocessing, is noticed", async () => {
    const runDir = join(tempDir(), "run");
    await run(runDir, 6);
    const changed = (): Table =>
      Table.fromRows(Array.from({ length: 200 }, (_, i) => ({ ...customers().row(i), spent: i })));
    await expect(run(runDir, undefined, { data: changed }, true)).rejects.toThrow("was trained on other data");
    const preprocess = { columns: { plan: "oneHot" as const }, target: "leaves" };
    await expect(run(runDir, undefined, { preprocess }, true)).rejects.toThrow("or `preprocess`, has changed since");
    expect(await run(runDir, undefined, {}, true)).toMatchObject({ status: "completed" });
  });
});

test("the config in docs/preprocessing.md trains", async () => {
  const dir = tempDir();
  const config = /```yaml\n([^]*?)```/.exec(readPage("docs/preprocessing.md"))![1]!;
  const table = customers();
  const rows = Array.from({ length: table.rowCount }, (_, i) => {
    const { age, plan, leaves } = table.row(i);
    return [age, plan, leaves].join(",");
  });
  const files = {
    "hookline.yaml": config,
    "customers.csv": ["age,plan,churn", ...rows, ""].join("\n"),
    "package.json": "{}",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const set = ["epochs=2", "engine=wasm", "signals=false", `runDir=${join(dir, "run")}`];
  const options = await buildExperiment(await readConfig(join(dir, "hookline.yaml"), { cwd: dir, env: {}, set }));
  const { models } = await new Experiment(options).run();
  expect(models.model!.results["test/accuracy"]).toBeGreaterThan(0.5);
  for (const [line, message] of [
    [
      "preprocess.columns.plan.minCuont=3",
      "preprocess.columns.plan.minCuont: oneHot: unknown option `minCuont`. Did you mean `minCount`?",
    ],
    [
      "preprocess.columns.age=standardize",
      "preprocess.columns.age: There is no transform `standardize`. Did you mean `standardise`?",
    ],
    ["preprocess.target={ column: age, uses: log }", "preprocess.target.uses: target: unknown option `uses`."],
    [
      "preprocess.columns.churn=oneHot",
      "preprocess: Preprocessor: `churn` is the target, and cannot be among `columns` too",
    ],
    ["preprocess=auto", "preprocess: Expected options such as { columns: auto, target: churn }"],
  ] as const) {
    const doc = await readConfig(join(dir, "hookline.yaml"), { cwd: dir, env: {}, set: [line] });
    await expect(buildExperiment(doc)).rejects.toThrow(message);
  }
});
