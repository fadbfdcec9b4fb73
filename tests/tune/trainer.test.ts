// Trials that are trainings: trial.hook() reports their evaluations, ends them at safe points and lets them go on.
import { modelCheckpoint, type Hook, type TrialCheckpoint } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { choice, Study, uniform, type Scheduler, type StudyOptions, type Trial } from "hookline/tune";
import { expect, test } from "vitest";
import { tempDir } from "../support/temp-dir.ts";

const space = { x: uniform(0, 1) };
type Space = typeof space;
type X = { readonly x: number };

const studyOf = (options: Partial<StudyOptions<Space>>): Study<Space> =>
  new Study({ space, trials: 1, signals: false, ...options });

interface Trained {
  readonly steps: number[];
  readonly losses: number[];
}

/** Three epochs of four steps, each evaluated; notes what it did. */
function training({ steps, losses }: Trained, ...hooks: Hook[]) {
  return async (trial: Trial<X>): Promise<void> => {
    const watch: Hook = {
      name: "watch",
      onStepEnd: (ctx) => void steps.push(ctx.step),
      onEvalEnd: (ctx) => void losses.push(ctx.evalMetrics["val/loss"]!),
    };
    await using trainer = tinyTrainer({
      epochs: 3,
      save: "sync",
      eval: new DataLoader(tinyData(8), { batchSize: 8 }),
      seed: trial.seed,
      ...(trial.runDir !== undefined && { runDir: trial.runDir }),
      hooks: [...hooks, watch, trial.hook()],
    });
    await trainer.fit({ resume: trial.resume });
  };
}

test("evaluations are reported with all metrics, at the step of the training", async () => {
  const done: Trained = { steps: [], losses: [] };
  const { trials } = await studyOf({ trial: training(done) }).run();
  expect(trials[0]!.reports.map(({ step }) => step)).toEqual([4, 8, 12]);
  expect(trials[0]!.reports.map(({ values }) => values["val/loss"])).toEqual(done.losses);
  expect(Object.keys(trials[0]!.result!)).toEqual(expect.arrayContaining(["train/loss", "val/loss"]));
  const alias = await studyOf({ objective: "eval_loss", trial: training({ steps: [], losses: [] }) }).run();
  expect(alias.best!.result!.eval_loss).toBe(done.losses.at(-1));
});

test("a pruned training ends there", async () => {
  const done: Trained = { steps: [], losses: [] };
  const scheduler: Scheduler = {
    name: "at 8",
    decide: (_, { step }) => (step === 8 ? { kind: "prune", reason: "no good" } : { kind: "continue" }),
  };
  const { trials } = await studyOf({ scheduler, trial: training(done) }).run();
  expect(trials[0]).toMatchObject({ status: "pruned", reason: "no good" });
  expect(done.steps.at(-1)).toBe(8);
});

test("a paused one saves, and goes on as if it had never paused", async () => {
  const whole: Trained = { steps: [], losses: [] };
  await studyOf({ trial: training(whole) }).run();
  const done: Trained = { steps: [], losses: [] };
  const scheduler: Scheduler = {
    name: "once",
    decide: (_, { step }) => (step === 4 ? { kind: "pause", reason: "waits" } : { kind: "continue" }),
    resume: (trials) => trials.filter(({ status }) => status === "paused").map(({ number }) => number),
  };
  const { trials } = await studyOf({ scheduler, dir: tempDir(), trial: training(done) }).run();
  expect(done).toEqual(whole);
  expect(trials[0]).toMatchObject({ status: "completed", attempts: 2, failures: 0 });
});

test("one that fails goes on from its last checkpoint", async () => {
  const whole: Trained = { steps: [], losses: [] };
  await studyOf({ trial: training(whole) }).run();
  const done: Trained = { steps: [], losses: [] };
  let failed = false;
  const failing: Hook = {
    name: "failing",
    onStepBegin(ctx) {
      if (ctx.step !== 10 || failed) return;
      failed = true;
      throw new Error("crashed");
    },
  };
  const trial = training(done, failing, modelCheckpoint({ every: "1 epoch" }));
  const { trials } = await studyOf({ dir: tempDir(), trial }).run();
  expect(trials[0]).toMatchObject({ status: "completed", failures: 1, result: { "val/loss": whole.losses.at(-1) } });
  expect(done.losses).toEqual(whole.losses);
});

test("a checkpoint that another trial goes on from is still there when its owner has saved a newer one", async () => {
  const done: Trained = { steps: [], losses: [] };
  const scheduler: Scheduler = {
    name: "once",
    decide: ({ number, params }, { step }) =>
      number === 1 && step === 8 ? { kind: "exploit", from: 0, params, reason: "worse" } : { kind: "continue" },
  };
  let saves = 0;
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const waits: Hook = { name: "waits", onEvalEnd: (ctx) => (ctx.step === 8 ? gate : undefined) };
  const restored: TrialCheckpoint[] = [];
  const hook: Hook = {
    name: "watch",
    onTrialSave: ({ trial: { number } }) => void (number === 0 && ++saves === 2 && open()),
    onTrialRestore: ({ checkpoint }) => void restored.push(checkpoint),
  };
  const trial = (each: Trial<X>): Promise<void> =>
    training(done, modelCheckpoint({ every: "1 epoch" }), ...(each.number === 1 ? [waits] : []))(each);
  const { trials } = await studyOf({
    dir: tempDir(),
    trials: 2,
    concurrency: 2,
    scheduler,
    trial,
    hooks: [hook],
  }).run();
  expect(trials.map(({ status, failures }) => [status, failures])).toEqual([
    ["completed", 0],
    ["completed", 0],
  ]);
  expect(restored.map(({ trial: of }) => of)).toEqual([0]);
});

test("one that the study's end interrupts saves, and goes on with the study", async () => {
  const whole: Trained = { steps: [], losses: [] };
  await studyOf({ trial: training(whole) }).run();
  const dir = tempDir();
  const done: Trained = { steps: [], losses: [] };
  const stop: Hook = { name: "stop", onTrialResult: (ctx) => void (ctx.trialStep === 8 && ctx.stop("later")) };
  expect((await studyOf({ dir, hooks: [stop], trial: training(done) }).run()).status).toBe("stopped");
  expect(done.steps.at(-1)).toBe(8);
  const { trials } = await studyOf({ dir, trial: training(done) }).run();
  expect(done).toEqual(whole);
  expect(trials[0]!.reports.map(({ step }) => step)).toEqual([4, 8, 12]);
});

test("parameters that hang on a choice reach the trial as they are", async () => {
  const study = new Study({
    space: { optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adam" }]) },
    trials: 8,
    objective: "loss",
    trial: ({ params: { optimizer } }) => ({ loss: optimizer.use === "sgd" ? optimizer.momentum : 2 }),
  });
  const { best } = await study.run();
  expect(best!.result!.loss).toBeLessThan(1);
});
