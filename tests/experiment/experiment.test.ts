// What an experiment does from its data to its results, and what its hooks see of it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  earlyStopping,
  ema,
  modelCheckpoint,
  schedule,
  sharedKey,
  swa,
  type Datasets,
  type Hook,
  type HostTensors,
  type PipelineContexts,
} from "hookline";
import { readWeights } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { Experiment, holdout, kFold, type ExperimentOptions } from "hookline/experiment";
import { linear, mse } from "hookline/nn";
import { plateau, sgd } from "hookline/optim";
import { tinyData } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { tempDir } from "../support/temp-dir.ts";
import { tinyExperiment, type TinyData, type TinyExperimentOptions } from "../support/tiny-experiment.ts";

/** What hooks see, kept for later. */
function seen<E extends keyof PipelineContexts>(event: E): { hook: Hook; contexts: PipelineContexts[E][] } {
  const contexts: PipelineContexts[E][] = [];
  const method = `on${event[0]!.toUpperCase()}${event.slice(1)}`;
  const listen = (ctx: PipelineContexts[E]): void => void contexts.push(ctx);
  return { contexts, hook: { name: `seen ${event}`, stage: "progress", onError: "throw", [method]: listen } };
}

/** What a reader of results.json may rely on. */
interface Saved {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly models: Readonly<Record<string, unknown>>;
}

const rows = (data: TinyData | undefined): number => data?.x.shape[0] ?? 0;

describe("the data", () => {
  it("is read, handed from hook to hook in their order, and split", async () => {
    const asked: string[] = [];
    const cut = (name: string, to: number, more: Partial<Hook> = {}): Hook => ({
      name,
      async onDataRead(ctx) {
        asked.push(`${name} ${rows(ctx.data as TinyData)}`);
        await Promise.resolve();
        return tinyData(to);
      },
      ...more,
    });
    const looks: Hook = {
      name: "looks",
      before: "second",
      onDataRead: (ctx) => void asked.push(`looks ${rows(ctx.data as TinyData)}`),
    };
    const created = seen("datasetCreated");
    const hooks = [created.hook, cut("last", 20, { stage: "monitor" }), cut("first", 40), cut("second", 30), looks];
    const result = await tinyExperiment({ hooks, seed: 3, name: "rows" }).run();
    expect(asked).toEqual(["first 16", "looks 40", "second 40", "last 30"]);
    const [{ datasets, folds, experiment, seed, runDir }] = created.contexts as [PipelineContexts["datasetCreated"]];
    const parts = datasets as Datasets<TinyData>;
    expect([rows(parts.train), rows(parts.val), rows(parts.test)]).toEqual([10, 5, 5]);
    expect({ folds, experiment, seed, runDir }).toEqual({ folds: [], experiment: "rows", seed: 3, runDir: undefined });
    expect(datasets).toEqual(holdout({ val: 0.25, test: 0.25 })(tinyData(20), 3).main);
    expect(result).toMatchObject({
      name: "rows",
      status: "completed",
      reason: "1 model",
      requestedBy: "",
      hookErrors: [],
    });
  });

  it("is all for training without a split, and then nothing is evaluated", async () => {
    const { models } = await tinyExperiment({ split: undefined }).run();
    expect(models.model!.training.steps).toBe(4);
    expect(models.model!.results).toEqual({});
  });

  it("decides what models, metrics and loaders are made of; the plan's own evaluation sees it too", async () => {
    const wide = { model: ({ datasets }: { datasets: { train: TinyData } }) => linear(datasets.train.x.shape[1]!, 1) };
    const experiment = new Experiment({
      data: async () => tinyData(24),
      split: holdout({ val: 0.25, test: 0 }),
      ...wide,
      loss: mse(),
      metrics: ({ datasets }) => ({
        rows: { update: (_, batch) => ({ n: batch.x!.sum().mul(0) }), compute: () => rows(datasets.train) },
      }),
      loaders: ({ datasets }) => ({
        train: new DataLoader(datasets.train, { batchSize: 6 }),
        eval: { watched: new DataLoader(datasets.val!, { batchSize: 6 }) },
      }),
      optimizer: sgd({ lr: 0.1 }),
      epochs: 1,
      engine: "wasm",
      signals: false,
      models: {
        plain: {},
        own: {
          evaluate: async (trainer, { datasets }) => ({
            half: rows(datasets.val) / 2,
            n: (await trainer.stateDict()).weight!.data.length,
          }),
        },
      },
    });
    const { models } = await experiment.run();
    expect(models.plain!.training.steps).toBe(3);
    expect(models.plain!.results).toMatchObject({ "watched/rows": 18 });
    expect(models.own!.results).toEqual({ half: 3, n: 3 });
  });
});

describe("models", () => {
  it("are trained one after the other on the same data, each with what it says itself over what is said for all", async () => {
    const key = sharedKey<string[]>("order");
    const order: Hook = {
      name: "order",
      onDatasetCreated: (ctx) => ctx.shared.set(key, ["data"]),
      onTrainBegin: (ctx) => void ctx.shared.need(key).push(`train ${ctx.totalSteps}`),
      onTrainingComplete: (ctx) => void ctx.shared.need(key).push(`${ctx.model} ${ctx.result.steps}`),
      onEvaluationComplete(ctx) {
        ctx.results.parameters = 4;
        ctx.shared.need(key).push(`${ctx.model} ${Object.keys(ctx.results).join(" ")}`);
        if (ctx.model === "b") all = ctx.shared.need(key);
      },
    };
    let all: string[] = [];
    const only = seen("trainingComplete");
    const models = { a: { steps: 1, hooks: [only.hook] }, b: { params: { depth: 1 }, seed: 5 } };
    const result = await tinyExperiment({ models, hooks: [order], epochs: 2 }).run();
    expect(all).toEqual([
      "data",
      "train 1",
      "a 1",
      "a test/loss parameters",
      "train 4",
      "b 4",
      "b test/loss parameters",
    ]);
    expect(only.contexts.map(({ model, params }) => [model, params])).toEqual([
      ["a", { epochs: 2, steps: 1, batchSize: 4, engine: "wasm" }],
    ]);
    expect(Object.keys(result.models)).toEqual(["a", "b"]);
    expect(result.models.b).toMatchObject({ model: "b", params: { depth: 1 }, results: { parameters: 4 } });
    expect(result.models.b!.training).toMatchObject({
      status: "completed",
      reason: "2 epochs",
      steps: 4,
      engine: "wasm",
    });
  });

  it("hooks may use the trained model: predict, evaluate, stateDict", async () => {
    let found: unknown;
    const uses: Hook = {
      name: "uses",
      async onTrainingComplete({ trained }) {
        const loader = new DataLoader(tinyData(8, 7), { batchSize: 4 });
        const outputs = await trained.predict(loader);
        found = [outputs.shape, Object.keys(await trained.stateDict()), Object.keys(await trained.evaluate(loader))];
      },
    };
    await tinyExperiment({ hooks: [uses] }).run();
    expect(found).toEqual([[8, 1], ["weight", "bias"], ["test/loss"]]);
  });

  it("write to a directory each, with results.json above them", async () => {
    const runDir = join(tempDir(), "deep", "run");
    const options = { runDir, split: kFold({ folds: 2, test: 0.25, val: 0.25 }), hooks: [modelCheckpoint()] };
    const result = await tinyExperiment({ ...options, models: { a: {}, b: {} } }).run();
    expect(readdirSync(runDir).sort()).toEqual(["a", "b", "results.json"]);
    expect(readdirSync(join(runDir, "a")).sort()).toEqual(["checkpoints", "fold-1", "fold-2", "model.json"]);
    expect(readdirSync(join(runDir, "a/fold-1")).sort()).toEqual(["checkpoints", "model.json"]);
    const file = JSON.parse(readFileSync(join(runDir, "results.json"), "utf8")) as Saved;
    expect(file).toMatchObject({ schema: "hookline.results", version: 1, status: "completed", seed: 0 });
    expect(file.endedAt - file.startedAt).toBeGreaterThanOrEqual(0);
    const { runDir: dir, results, folds, training } = result.models.a!;
    expect(file.models.a).toMatchObject({ complete: true, results, folds, training });
    expect(dir).toBe(join(runDir, "a"));
    const one = join(tempDir(), "one");
    await tinyExperiment({ ...options, split: undefined, runDir: one }).run();
    expect(readdirSync(one).sort()).toEqual(["checkpoints", "model.json", "results.json"]);
  });

  it("numbers that JSON lacks survive in results.json", async () => {
    const runDir = join(tempDir(), "run");
    const odd: Hook = {
      name: "odd",
      onEvaluationComplete: ({ results }) => void Object.assign(results, { nan: NaN, most: Infinity }),
    };
    const options = { runDir, hooks: [odd] };
    const { models } = await tinyExperiment(options).run();
    const again = await tinyExperiment(options).run({ resume: true });
    expect(models.model!.results).toMatchObject({ nan: NaN, most: Infinity });
    expect(again.models).toEqual(models);
  });
});

describe("folds", () => {
  it("are trained and evaluated like models, and summed up in mean and standard deviation", async () => {
    const data = tinyData(24);
    const split = kFold({ folds: 3, test: 0.25 });
    const { models } = await tinyExperiment({ data: () => data, split, epochs: 2 }).run();
    const { main, folds } = split(data, 0);
    const alone: number[] = [];
    for (const fold of folds!) {
      const single = await tinyExperiment({ data: () => data, split: () => ({ main: fold }), epochs: 2 }).run();
      alone.push(single.models.model!.results["val/loss"]!);
    }
    const mean = (alone[0]! + alone[1]! + alone[2]!) / 3;
    const std = Math.sqrt(alone.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 2);
    expect(models.model!.folds).toEqual({
      "val/loss": { mean: expect.closeTo(mean, 12), std: expect.closeTo(std, 12) },
    });
    const rest = await tinyExperiment({ data: () => data, split: () => ({ main }), epochs: 2 }).run();
    expect(models.model!.results).toEqual(rest.models.model!.results);
  });

  const watchers: [string, TinyExperimentOptions][] = [
    ["hook `earlyStopping`", { hooks: [earlyStopping()] }],
    ["hook `modelCheckpoint`", { hooks: [schedule("1 epoch", modelCheckpoint({ monitor: "val_loss" }))] }],
    ["the schedule", { schedule: plateau({ monitor: "val/loss" }) }],
  ];

  it.each(watchers)(
    "%s watching a validation that the main training lacks is told before any fold",
    async (who, more) => {
      const runDir = join(tempDir(), "run");
      const steps: number[] = [];
      const counts: Hook = { name: "counts", onStepEnd: (ctx) => void steps.push(ctx.step) };
      const options = { data: () => tinyData(40), runDir, ...more, hooks: [...(more.hooks ?? []), counts] };
      await expect(tinyExperiment({ ...options, split: kFold({ folds: 2 }) }).run()).rejects.toThrow(
        new RegExp(
          `^Experiment: ${who} watches .*the folds have and the main training has not.*kFold\\(\\{ val: 0.1 \\}\\)`,
        ),
      );
      expect(steps).toEqual([]);
      expect(existsSync(runDir)).toBe(false);
      const split = kFold({ folds: 2, val: 0.1 });
      expect((await tinyExperiment({ ...options, split }).run()).status).toBe("completed");
    },
  );

  it("what is wrong with a new run leaves the last one where it is", async () => {
    const runDir = join(tempDir(), "run");
    const options = { data: () => tinyData(40), runDir, split: holdout() };
    await tinyExperiment(options).run();
    const before = readFileSync(join(runDir, "results.json"), "utf8");
    const unreadable = () => {
      throw new Error("the tape is torn");
    };
    for (const wrong of [
      { split: kFold({ folds: 2 }), hooks: [earlyStopping()] },
      { hooks: [earlyStopping({ monitor: "val/los" })] },
      { data: unreadable },
    ])
      await expect(tinyExperiment({ ...options, ...wrong }).run()).rejects.toThrow(
        /watches `val\/loss?`|the tape is torn/,
      );
    expect(readFileSync(join(runDir, "results.json"), "utf8")).toBe(before);
    expect(existsSync(`${runDir}.1`)).toBe(false);
  });

  it("a hook that can do without its metric may watch what is not there", async () => {
    const hooks = [earlyStopping({ strict: false })];
    const { status } = await tinyExperiment({ split: kFold({ folds: 2 }), hooks }).run();
    expect(status).toBe("completed");
  });
});

describe("mistakes of trainings that come later", () => {
  /** Steps of an experiment that must fail, and its error. */
  async function failing(options: TinyExperimentOptions): Promise<{ steps: number; message: string }> {
    let steps = 0;
    const counts: Hook = { name: "counts", onStepEnd: () => void steps++ };
    const run = tinyExperiment({ ...options, hooks: [...(options.hooks ?? []), counts] }).run();
    const { message } = await run.then(
      () => new Error("it was trained"),
      (error: unknown) => error as Error,
    );
    return { steps, message };
  }

  it("a second model that does not fit is found before the first is trained", async () => {
    const models = { fits: { model: linear(3, 1) }, wide: { model: linear(5, 1) } };
    expect(await failing({ models })).toEqual({
      steps: 0,
      message: expect.stringMatching(/^The step failed on a batch .* of loader `train`: linear\(5, 1\)/),
    });
    const late = { fits: {}, watched: { hooks: [earlyStopping({ monitor: "val/los" })] } };
    expect(await failing({ models: late, split: holdout({ val: 0.25 }) })).toEqual({
      steps: 0,
      message: expect.stringMatching(/^Hook `earlyStopping` watches `val\/los`.* Did you mean `val\/loss`\?/),
    });
  });

  it("a main training that does not fit is found before any fold", async () => {
    const split = (data: TinyData) => ({
      main: { train: data, val: { x: data.x } as TinyData },
      folds: [{ train: data, val: data }],
    });
    expect(await failing({ split })).toEqual({
      steps: 0,
      message: expect.stringMatching(
        /^The evaluation failed on a batch \{ x: .* of loader `val`: mse: the batch has no `y`/,
      ),
    });
  });

  it("a model that is made from an earlier one is made when its turn comes", async () => {
    let trained = false;
    const first: Hook = { name: "first", onTrainingComplete: () => void (trained = true) };
    const student = () => linear(trained ? 3 : 5, 1);
    const { status } = await tinyExperiment({ models: { a: {}, b: { model: student } }, hooks: [first] }).run();
    expect(status).toBe("completed");
  });

  it("preflight finds them without training, and writes nothing", async () => {
    const runDir = join(tempDir(), "run");
    const seen: string[] = [];
    const hook: Hook = {
      name: "seen",
      onDataRead: () => void seen.push("dataRead"),
      onDatasetCreated: () => void seen.push("datasetCreated"),
      onInit: () => void seen.push("init"),
    };
    const experiment = tinyExperiment({ runDir, hooks: [hook], split: holdout({ val: 0.25 }) });
    const { model } = await experiment.preflight();
    expect(model!.metrics).toEqual(["train/loss", "val/loss"]);
    expect(model!.batches.eval.val!.x!.shape[1]).toBe(3);
    expect(seen).toEqual(["dataRead"]);
    expect(existsSync(runDir)).toBe(false);
    await expect(tinyExperiment({ model: () => linear(5, 1) }).preflight()).rejects.toThrow("linear(5, 1)");
    const stops: Hook = { name: "stops", onDataRead: (ctx) => ctx.stop("too few points") };
    await expect(tinyExperiment({ hooks: [stops] }).preflight()).rejects.toThrow(
      "Hook `stops` would stop the experiment: too few points",
    );
    expect((await experiment.run()).status).toBe("completed");
  });
});

describe("the parameters that are evaluated", () => {
  /** A rate at which the loss goes up soon: the best epoch is not the last. */
  const diverging = { optimizer: sgd({ lr: 1.1 }), epochs: 6, save: "sync" as const };

  async function params(runDir: string | undefined, ...hooks: Hook[]) {
    let state: HostTensors = {};
    const history: { step: number; loss: number }[] = [];
    const keep: Hook = {
      name: "keep",
      onEvalEnd: (ctx) =>
        void (ctx.phase === "eval" && history.push({ step: ctx.step, loss: ctx.evalMetrics["val/loss"]! })),
      onTrainingComplete: async ({ trained }) => void (state = await trained.stateDict()),
    };
    const split = holdout({ val: 0.25, test: 0 });
    const { models } = await tinyExperiment({
      ...diverging,
      split,
      ...(runDir && { runDir }),
      hooks: [...hooks, keep],
    }).run();
    const best = history.reduce((a, b) => (b.loss < a.loss ? b : a));
    return { state, best, last: history.at(-1)!, model: models.model! };
  }

  it("are those of the last step without a monitor", async () => {
    const { model, last, best } = await params(join(tempDir(), "run"), modelCheckpoint());
    expect(best.step).toBeLessThan(last.step);
    expect(model.results["val/loss"]).toBe(last.loss);
    expect(model.checkpoint).toBeUndefined();
  });

  it("are those of modelCheckpoint's best, when it monitors something", async () => {
    const { model, best, state } = await params(join(tempDir(), "run"), modelCheckpoint({ monitor: "val/loss" }));
    expect(model.results["val/loss"]).toBe(best.loss);
    expect(model.checkpoint).toBe(`step-${String(best.step).padStart(6, "0")}`);
    expect(state).toEqual(await readWeights(join(model.runDir!, "checkpoints", model.checkpoint!)));
  });

  it("are the average of the best checkpoint, where evaluations see one", async () => {
    const dir = join(tempDir(), "run");
    const { model, best, state } = await params(dir, ema({ decay: 0.5 }), modelCheckpoint({ monitor: "val/loss" }));
    expect(model.results["val/loss"]).toBe(best.loss);
    expect(state).toEqual(await readWeights(join(dir, "checkpoints", model.checkpoint!), { averaged: "ema" }));
  });

  it("are those that a hook puts in place at the end: whoever asked for it knows best", async () => {
    const restored = await params(undefined, earlyStopping({ patience: 9, restoreBest: true }));
    expect(restored.model.results["val/loss"]).toBe(restored.best.loss);
    const mean = swa({ from: "1 steps", every: 1 });
    const averaged = await params(join(tempDir(), "run"), mean, modelCheckpoint({ monitor: "val/loss" }));
    const alone = await params(undefined, swa({ from: "1 steps", every: 1 }));
    expect(averaged.model.checkpoint).toBeUndefined();
    expect(averaged.state).toEqual(alone.state);
    expect(averaged.model.results["val/loss"]).not.toBe(averaged.best.loss);
  });
});

describe("options", () => {
  const data = () => tinyData(16);
  const base = { data, model: linear(3, 1), loss: mse(), optimizer: sgd({ lr: 0.1 }), epochs: 1 };
  const listens: Hook = { name: "listens", onDataRead: () => undefined };
  const cases: [object, string][] = [
    [{ ...base, data: undefined }, "Experiment: missing option `data` (a function)."],
    [{ ...base, epoch: 1 }, "Experiment: unknown option `epoch`. Did you mean `epochs`?"],
    [{ ...base, train: 1 }, "Experiment: unknown option `train`."],
    [{ ...base, optimizer: undefined }, "Experiment: missing option `optimizer`"],
    [{ ...base, epochs: undefined }, "say how long to train"],
    [{ ...base, engine: "cuda" }, "`engine`"],
    [
      { ...base, loader: { batchsize: 3 } },
      "Experiment: loader: unknown option `batchsize`. Did you mean `batchSize`?",
    ],
    [{ ...base, models: {} }, "`models` is an empty object"],
    [{ ...base, models: { a: 3 } }, "Expected `models.a` to be an object, got `3` (number)"],
    [{ ...base, models: { a: { runDir: "x" } } }, "Experiment: models.a: unknown option `runDir`."],
    [{ ...base, models: { "../a": {} } }, "Expected a model's name to be a name of at most 100 letters"],
    [{ ...base, models: { "results.json": {} } }, "a model cannot be named `results.json`"],
    [
      { ...base, models: { a: { hooks: [listens] } } },
      "models.a: hook `listens` listens to `dataRead`, which comes before any model",
    ],
    [{ ...base, hooks: [listens, listens] }, "There is already a hook named `listens`"],
    [
      { ...base, hooks: [{ name: "x", onDataRed() {} }] },
      "has a method `onDataRed`, but there is no such event. Did you mean `onDataRead`?",
    ],
    [{ ...base, hooks: [{ ...listens, after: "listen" }] }, "Did you mean `listens`?"],
  ];
  it.each(cases)("%# are checked before anything is read", (options, message) => {
    expect(() => new Experiment(options as ExperimentOptions)).toThrow(message);
  });

  it("what a split, loaders or an evaluation returns is checked", async () => {
    await expect(tinyExperiment({ split: () => ({}) as never }).run()).rejects.toThrow(
      "Expected `split` to return { main: { train, val, test } }",
    );
    await expect(tinyExperiment({ loaders: () => ({}) as never }).run()).rejects.toThrow(
      "Expected `loaders` to return { train, eval, test }",
    );
    await expect(tinyExperiment({ evaluate: async () => ({ a: "1" }) as never }).run()).rejects.toThrow(
      '`evaluate`: Expected results to be numbers, but `a` is `"1"` (string)',
    );
  });

  it("of run()", async () => {
    const experiment = tinyExperiment();
    await expect(experiment.run({ resum: true } as never)).rejects.toThrow(
      "unknown option `resum`. Did you mean `resume`?",
    );
    await expect(experiment.run({ resume: true })).rejects.toThrow("`resume` needs the experiment's `runDir`");
    const running = experiment.run();
    await expect(experiment.run()).rejects.toThrow("while it is running");
    await running;
    expect((await experiment.run()).status).toBe("completed");
  });

  it("without a runDir nothing is written", async () => {
    const before = readdirSync(".").sort();
    await tinyExperiment({ name: "nowhere" }).run();
    expect(readdirSync(".").sort()).toEqual(before);
    expect(existsSync("runs/nowhere")).toBe(false);
  });
});
