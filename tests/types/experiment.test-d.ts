// What a user writes around an experiment: the data's own type reaches models, loaders and splits.
import type { Datasets, Hook, RunResult, TrainedModel } from "hookline";
import { DataLoader, type HostArray } from "hookline/data";
import {
  byTime,
  Experiment,
  holdout,
  kFold,
  leaveOneOut,
  type ExperimentResult,
  type ModelResult,
  type Split,
} from "hookline/experiment";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
import { testContext } from "hookline/testing";
import { describe, expectTypeOf, test } from "vitest";

interface Ratings {
  readonly user: Int32Array;
  readonly x: HostArray<Float32Array>;
}
declare const ratings: Ratings;
const base = { loss: mse(), optimizer: sgd({ lr: 0.1 }), epochs: 1 };

describe("Experiment", () => {
  test("takes its type from the data, read at once or later", () => {
    const experiment = new Experiment({
      ...base,
      data: async () => ratings,
      split: leaveOneOut({ by: "user" }),
      model({ datasets, seed }) {
        expectTypeOf(datasets.train.user).toEqualTypeOf<Int32Array>();
        expectTypeOf(datasets.test?.x.data).toEqualTypeOf<Float32Array | undefined>();
        expectTypeOf(seed).toBeNumber();
        return linear(datasets.train.x.shape[1]!, 1);
      },
      loaders: ({ datasets }) => ({ train: new DataLoader({ ...datasets.train }, { batchSize: 4 }) }),
      evaluate: async (trainer, { datasets }) => ({ users: datasets.train.user.length + trainer.summary().length }),
    });
    expectTypeOf(experiment.run()).resolves.toEqualTypeOf<ExperimentResult>();
    expectTypeOf(experiment.run({ resume: true, signal: new AbortController().signal })).toEqualTypeOf<
      Promise<ExperimentResult>
    >();
    // @ts-expect-error -- misspelled
    void experiment.run({ resumed: true });
  });

  test("also when options come from elsewhere, and for each of several models", () => {
    const shared = { ...base, data: () => ratings, split: holdout() };
    void new Experiment({
      ...shared,
      models: { a: { model: ({ datasets }) => linear(datasets.train.user.length, 1) } },
    });
  });

  test("data of any kind goes with a split and loaders of one's own", () => {
    void new Experiment({
      ...base,
      data: () => "a text",
      split: (text, seed) => ({ main: { train: text.slice(seed), val: text } }),
      model: linear(1, 1),
      loaders: ({ datasets }) => ({
        train: new DataLoader(
          datasets.train.split("").map((c) => ({ x: c.length })),
          { batchSize: 1 },
        ),
      }),
    });
    // @ts-expect-error -- ours split arrays
    void new Experiment({ ...base, data: () => "a text", split: holdout(), model: linear(1, 1) });
  });

  test("misspelled and misplaced options", () => {
    const data = () => ratings;
    // @ts-expect-error -- epochs
    void new Experiment({ ...base, data, model: linear(1, 1), epoch: 3 });
    const train = new DataLoader({ ...ratings }, { batchSize: 1 });
    // @ts-expect-error -- an experiment makes its loaders
    void new Experiment({ ...base, data, model: linear(1, 1), train });
    // @ts-expect-error -- a model has no data of its own
    void new Experiment({ ...base, data, models: { a: { model: linear(1, 1), data } } });
    void new Experiment({ ...base, data, models: { a: { model: linear(1, 1), epochs: 3, hooks: [{ name: "x" }] } } });
  });

  test("results", () => {
    expectTypeOf<ExperimentResult["models"][string]>().toEqualTypeOf<ModelResult>();
    expectTypeOf<ModelResult["results"]["test/loss"]>().toBeNumber();
    expectTypeOf<NonNullable<ModelResult["folds"]>[string]["std"]>().toBeNumber();
    expectTypeOf<ModelResult["training"]["status"]>().toEqualTypeOf<RunResult["status"]>();
  });
});

test("splits fit any arrays, also those of an interface, and options are checked", () => {
  const any: Split[] = [
    holdout(),
    kFold({ folds: 3 }),
    leaveOneOut({ by: "user", val: false }),
    byTime({ field: "t" }),
  ];
  expectTypeOf(any).toEqualTypeOf<Split[]>();
  expectTypeOf(holdout()(ratings, 0).main).toEqualTypeOf<Datasets<Ratings>>();
  // @ts-expect-error -- a number
  holdout({ val: "10%" });
  // @ts-expect-error -- which group?
  leaveOneOut({});
  // @ts-expect-error -- folds
  kFold({ k: 5 });
});

test("hooks", () => {
  const hook: Hook = {
    name: "mine",
    onDataRead(ctx) {
      expectTypeOf(ctx.data).toBeUnknown();
      expectTypeOf(ctx.runDir).toEqualTypeOf<string | undefined>();
      // @ts-expect-error -- there is no step yet
      void ctx.step;
      return { ...(ctx.data as Ratings), user: new Int32Array(3) };
    },
    onDatasetCreated(ctx) {
      expectTypeOf(ctx.datasets).toEqualTypeOf<Datasets>();
      expectTypeOf((ctx.datasets as Datasets<Ratings>).val?.user).toEqualTypeOf<Int32Array | undefined>();
      ctx.stop("enough");
      // @ts-expect-error -- a verb of the loop
      ctx.skip("step");
    },
    async onTrainingComplete(ctx) {
      expectTypeOf(ctx.trained).toEqualTypeOf<TrainedModel>();
      expectTypeOf(ctx.result).toEqualTypeOf<RunResult>();
      await ctx.trained.predict(new DataLoader({ ...ratings }, { batchSize: 1 }));
    },
    onEvaluationComplete(ctx) {
      ctx.results.mine = 1;
      // @ts-expect-error -- numbers
      ctx.results.mine = "1";
      // @ts-expect-error -- of the event before
      void ctx.result;
    },
  };
  const { ctx, calls } = testContext("dataRead", { data: ratings });
  expectTypeOf(hook.onDataRead!(ctx)).toBeUnknown();
  expectTypeOf(calls[0]!.args).toEqualTypeOf<readonly unknown[]>();
});
