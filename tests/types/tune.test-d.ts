// What a user writes around a study: the space's own type reaches the trial.
import type { Hook, TrialInfo } from "hookline";
import { testContext } from "hookline/testing";
import {
  choice,
  int,
  local,
  logUniform,
  random,
  Space,
  Study,
  uniform,
  type Params,
  type StudyResult,
  type Trial,
} from "hookline/tune";
import { describe, expectTypeOf, test } from "vitest";

const space = {
  lr: logUniform(1e-4, 1e-1),
  model: { layers: int(1, 3), activation: choice(["relu", "tanh"]) },
  optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adam" }]),
};

describe("Study", () => {
  test("the trial's params are typed by the space", () => {
    const study = new Study({
      space,
      trials: 10,
      async trial(trial) {
        expectTypeOf(trial.params.lr).toBeNumber();
        expectTypeOf(trial.params.model.layers).toBeNumber();
        expectTypeOf(trial.params.model.activation).toExtend<string>();
        // @ts-expect-error -- no such parameter
        void trial.params.width;
        expectTypeOf(trial.report({ loss: 1 })).toEqualTypeOf<Promise<void>>();
        expectTypeOf(trial.hook()).toEqualTypeOf<Hook>();
        expectTypeOf(trial.resume).toEqualTypeOf<string | undefined>();
        return { "val/loss": trial.params.lr };
      },
    });
    expectTypeOf(study.run()).resolves.toEqualTypeOf<StudyResult>();
    expectTypeOf(study.best).toEqualTypeOf<TrialInfo | undefined>();
    expectTypeOf(study.ask()!.params.lr).toBeNumber();
    study.tell(0, { "val/loss": 1 });
    study.tell(0, new Error("no"));
    // @ts-expect-error -- numbers
    study.tell(0, { "val/loss": "1" });
    // @ts-expect-error -- misspelled
    void study.run({ signals: true });
  });

  test("a space that was made before has plain params", () => {
    const made = new Space(space);
    void new Study({
      space: made,
      sampler: random(made),
      trials: 1,
      trial(trial) {
        expectTypeOf(trial.params).toEqualTypeOf<Params>();
      },
    });
  });

  test("a trial of its own is written apart, or named", () => {
    const train = async (trial: Trial<{ readonly lr: number }>) => ({ "val/loss": trial.params.lr });
    void new Study({ space, trials: 1, trial: train });
    void new Study({ space, trials: 1, trial: "./trial.ts#train", runner: local({ processes: 2 }) });
    // @ts-expect-error -- results are numbers
    void new Study({ space, trials: 1, trial: () => ({ loss: "small" }) });
    // @ts-expect-error -- misspelled
    void new Study({ space, trails: 1, trial: train });
  });
});

test("hooks of a study", () => {
  const hook: Hook = {
    name: "mine",
    onTrialResult(ctx) {
      ctx.result.loss = 1;
      // @ts-expect-error -- numbers
      ctx.result.loss = "1";
      expectTypeOf(ctx.trialStep).toBeNumber();
      ctx.stop("enough");
    },
    onTrialComplete(ctx) {
      expectTypeOf(ctx.trial).toEqualTypeOf<TrialInfo>();
      // @ts-expect-error -- it is over
      ctx.result.loss = 1;
    },
    onTrialRestore: (ctx) => expectTypeOf(ctx.checkpoint.path).toBeString(),
    onTrialError: (ctx) => expectTypeOf(ctx.error.message).toBeString(),
    onExperimentEnd(ctx) {
      expectTypeOf(ctx.status).toEqualTypeOf<"completed" | "stopped" | "interrupted" | "error">();
      // @ts-expect-error -- of a trial
      void ctx.trial;
    },
  };
  const { ctx } = testContext("tuneSetup", { resumed: true });
  expectTypeOf(ctx.budget.trials).toEqualTypeOf<number | undefined>();
  void hook;
});
