// Sweeps over experiments, in this process: what is wrong with one is told at its place, and trials leave and go on as others do.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Study, type Scheduler, type StudyOptions, type StudyResult } from "hookline/tune";
import { describe, expect, test, vi } from "vitest";
import { recordSweep } from "../../src/cli/tune/study-output.ts";
import type { SavedResults } from "../../src/runs/results.ts";
import type { Space } from "../../src/tune/space/space.ts";
import { buildSweep } from "../../src/tune/sweep/build-sweep.ts";
import { readSweep } from "../../src/tune/sweep/read-sweep.ts";
import { CONFIG, tinyProject, tinySweep } from "../cli/tiny-project.ts";
import { messageOf, projectOf } from "../support/config-files.ts";

const SWEEP = tinySweep("inProcess");

const files = (sweep: string): Record<string, string> => ({ ...tinyProject(), "sweep.yaml": sweep });

async function built(sweep: string, ...set: readonly string[]) {
  const cwd = projectOf(files(sweep));
  const doc = await readSweep("sweep.yaml", { cwd, set, env: {} });
  return { doc, options: await buildSweep(doc) };
}

/** Runs it with these options over what the file says. */
async function ran(sweep: string, over: Partial<StudyOptions<Space>> = {}): Promise<StudyResult & { dir: string }> {
  const cwd = projectOf(files(sweep));
  const dir = join(cwd, "runs/s");
  const doc = await readSweep("sweep.yaml", { cwd, set: [`dir=${dir}`], env: {} });
  const study = new Study({ ...(await buildSweep(doc)), signals: false, ...over });
  await recordSweep(dir, doc, [], study.objectives);
  return { ...(await study.run()), dir };
}

const resultsOf = (dir: string, trial: number): SavedResults =>
  JSON.parse(readFileSync(join(dir, `trial-00${trial}/results.json`), "utf8")) as SavedResults;

describe("what is wrong is told at its place", () => {
  test.each<[what: string, from: string, to: string, message: string]>([
    [
      "a key",
      "trials: 2",
      "trails: 2",
      "sweep.yaml:7:1: trails: sweep: unknown option `trails`. Did you mean `trials`?",
    ],
    [
      "a parameter",
      "use: logUniform",
      "use: logUnifrom",
      "sweep.yaml:4:19: space.optimizer.lr.use: there is no parameter `logUnifrom`. Did you mean `logUniform`?",
    ],
    [
      "an empty range",
      "low: 0.01",
      "low: 0.3",
      "sweep.yaml:4:36: space.optimizer.lr.low: logUniform: `low` (0.3) is above `high` (0.2).",
    ],
    [
      "a path that the experiment does not have",
      "optimizer.lr",
      "optimizer.rl",
      "sweep.yaml:4:3: optimizer.rl: sgd: unknown option `rl`.",
    ],
    [
      "a value that the experiment does not take",
      "low: 0.01, high: 0.2 }",
      "low: 0.01, high: 0.2 }\n  optimizer.momentum: { use: choice, options: [0, -1] }",
      "sweep.yaml:5:3: optimizer.momentum: sgd: Expected `momentum` to be",
    ],
    [
      "a sampler",
      "sampler: random",
      "sampler: radnom",
      "sweep.yaml:6:1: sampler: There is no sampler `radnom`. Did you mean `random`? Known: grid, random, sobol, tpe",
    ],
    [
      "an option of a scheduler",
      "trials: 2",
      "trials: 2\nscheduler: { use: asha, maxStep: 9 }",
      "sweep.yaml:8:25: scheduler.maxStep: asha: unknown option `maxStep`. Did you mean `maxSteps`?",
    ],
    [
      "what only its maker gives",
      "sampler: random",
      "sampler: { use: random, space: {} }",
      "sampler.space: random: unknown option `space`.",
    ],
    ["a study without end", "trials: 2\n", "", "trials: Study: it would never end."],
    [
      "the experiment's file",
      "./hookline.yaml",
      "./hokline.yaml",
      "sweep.yaml:2:13: experiment: There is no file hokline.yaml. Did you mean `hookline.yaml`?",
    ],
    [
      "several models",
      "./hookline.yaml",
      "{ use: ./hookline.yaml, models: { a: {}, b: {} } }",
      "sweep.yaml:2:37: models: A sweep is over one model",
    ],
    [
      "the objective",
      "val/loss",
      "val/los",
      "sweep.yaml:5:1: objective: There is no metric `val/los`. Did you mean `val/loss`? The experiment has: train/loss, val/loss, test/loss. Name one of them, or add to its `metrics`.",
    ],
    [
      "an objective without its loader",
      "objective: val/loss",
      "objectives: [val/loss, { metric: loss }]",
      "sweep.yaml:5:24: objectives.1: There is no metric `loss`. Did you mean `val/loss`?",
    ],
    [
      "an objective of data that there is not",
      "./hookline.yaml",
      "{ use: ./hookline.yaml, split: null, hooks: [] }",
      "objective: `val/loss` needs data to validate on, and there is none. Give the experiment a split: `split: { use: holdout, val: 0.1 }`.",
    ],
    ["no trial", "experiment: ./hookline.yaml\n", "", "missing `trial` (./trial.ts#train), or `experiment`"],
    [
      "both",
      "trials: 2",
      "trial: ./parts.mjs#points\ntrials: 2",
      "trial: A sweep has a `trial` or an `experiment`, not both.",
    ],
    [
      "the trial's export",
      "experiment: ./hookline.yaml",
      "trial: ./parts.mjs#pionts",
      "sweep.yaml:2:1: trial: ./parts.mjs has no export `pionts`. Did you mean `points`?",
    ],
    [
      "a hook's export",
      "trials: 2",
      "hooks: [./parts.mjs#sloww]\ntrials: 2",
      "sweep.yaml:7:9: hooks.0: ./parts.mjs has no export `sloww`. Did you mean `slow`?",
    ],
    [
      "two hooks of the experiment with one name",
      "./hookline.yaml",
      "{ use: ./hookline.yaml, hooks: [./parts.mjs#talkative, { use: earlyStopping, monitor: val/loss }, ./parts.mjs#talkative] }",
      "hooks: There is already a hook named `talkative` in this experiment. Give this one another `name`.",
    ],
    [
      "a hook of the experiment with the name of one of the sweep",
      "./hookline.yaml",
      "{ use: ./hookline.yaml, hooks: [./parts.mjs#talkative] }\nhooks: [./parts.mjs#talkative]",
      "hooks.0: The name `talkative` of this hook is used by a hook of the sweep too. Give it another `name`.",
    ],
    [
      "a hook of the experiment with the name of a trial's own",
      "./hookline.yaml",
      "{ use: ./hookline.yaml, hooks: [{ use: earlyStopping, monitor: val/loss, name: trial }] }",
      "hooks.0: The name `trial` of this hook is used by every trial too. Give it another `name`.",
    ],
    [
      "an experiment that extends",
      "./hookline.yaml",
      "{ extends: ./hookline.yaml }",
      "Name the config that it changes with `use`",
    ],
  ])("%s", async (_, from, to, message) => {
    expect(SWEEP).toContain(from);
    expect(await messageOf(built(SWEEP.replace(from, to)))).toContain(message);
  });

  test.each<[what: string, objective: string, experiment: string]>([
    ["the epoch's", "train/loss", ""],
    ["the final evaluation's", "test/loss", ""],
    ["by another system's name", "eval_loss", ""],
    ["a built-in hook's", "perf/samplesPerSec", ""],
    ["perhaps of a hook of the user's own", "val/own", ", hooks: [./parts.mjs#talkative]"],
    ["perhaps of an evaluation of the user's own", "val/own", ", evaluate: ./parts.mjs#points"],
  ])("an objective that may be there is not refused: %s", async (_, objective, experiment) => {
    const sweep = SWEEP.replace("val/loss", objective).replace(
      "./hookline.yaml",
      `{ use: ./hookline.yaml${experiment} }`,
    );
    await expect(built(sweep)).resolves.toBeDefined();
  });

  test("an objective of a part that the split leaves out, when the data is there", async () => {
    const study = ran(
      SWEEP.replace("./hookline.yaml", "{ use: ./hookline.yaml, split: { use: holdout, val: 0 }, hooks: [] }"),
      { maxEqualFailures: 1, retries: 0 },
    );
    await expect(study).rejects.toThrow("`val/loss` needs data to validate on, and there is none.");
  });

  test("folds, when the data is there", async () => {
    const study = ran(
      SWEEP.replace("./hookline.yaml", "{ use: ./hookline.yaml, split: { use: kFold, folds: 2, val: 0.2 } }"),
      {
        maxEqualFailures: 1,
        retries: 0,
      },
    );
    await expect(study).rejects.toThrow(/A sweep trains on one split, but `split` makes folds/);
  });
});

test("each trial is the experiment with its parameters, and its result that of the final evaluation", async () => {
  const { trials, dir, best } = await ran(SWEEP.replace("val/loss", "test/loss"));
  expect(trials.map(({ status }) => status)).toEqual(["completed", "completed"]);
  for (const { number, params, result, reports } of trials) {
    const { status, models } = resultsOf(dir, number);
    expect(status).toBe("completed");
    expect(models.model!.params).toMatchObject({ optimizer: { use: "sgd", ...(params.optimizer as object) } });
    expect(result!["test/loss"]).toBe(models.model!.results!["test/loss"]);
    expect(reports.map(({ step }) => step)).toEqual([4, 8, 12]);
  }
  const losses = trials.map(({ result }) => result!["test/loss"]!);
  expect(best!.result!["test/loss"]).toBe(Math.min(...losses));
  expect(losses[0]).not.toBe(losses[1]);
});

test("objectives of the training and of the final evaluation together", async () => {
  const { trials, dir } = await ran(
    SWEEP.replace("objective: val/loss", "objectives: [val/loss, test/loss, eval_loss]"),
  );
  expect(trials.map(({ status }) => status)).toEqual(["completed", "completed"]);
  for (const { number, result, reports } of trials) {
    const last = reports.at(-1)!.values["val/loss"];
    const final = resultsOf(dir, number).models.model!.results!["test/loss"];
    expect(result).toMatchObject({ "val/loss": last, eval_loss: last, "test/loss": final });
  }
});

test("an experiment within the sweep, nested parameters, an option of a choice whole, and --set through the name", async () => {
  const inline = CONFIG.replaceAll(/^/gm, "  ");
  const space = `space:
  optimizer: { use: choice, options: [{ use: adam, lr: { use: uniform, low: 0.01, high: 0.02 } }] }
  loader: { batchSize: { use: int, low: 16, high: 16 } }`;
  const sweep = SWEEP.replace("experiment: ./hookline.yaml", `experiment:\n${inline}`).replace(/space:\n.*/, space);
  const { trials, dir } = await ran(sweep, { trials: 1 });
  expect(trials).toMatchObject([{ status: "completed" }]);
  const { models } = resultsOf(dir, 0);
  expect(models.model!.params).toMatchObject({ optimizer: trials[0]!.params.optimizer, loader: { batchSize: 16 } });
  expect(models.model!.training!.steps).toBe(6);

  const { doc } = await built(SWEEP, "experiment.epochs=1");
  expect(JSON.stringify(doc.doc.value)).toContain('"experiment":{"use":"./hookline.yaml","epochs":1}');
});

/** At the first report of each trial. */
const onceAtFour = (decision: "pause" | "prune"): Scheduler => ({
  name: decision,
  decide: (_, { step }) => (step === 4 ? { kind: decision, reason: "as planned" } : { kind: "continue" }),
  resume: (trials) => trials.filter(({ status }) => status === "paused").map(({ number }) => number),
});

test("a paused trial goes on as if it had never paused; a pruned one is not evaluated", async () => {
  const whole = await ran(SWEEP);
  const paused = await ran(SWEEP, { scheduler: onceAtFour("pause") });
  expect(paused.trials.map(({ attempts }) => attempts)).toEqual([2, 2]);
  const curves = ({ trials }: StudyResult): unknown =>
    trials.map(({ reports }) => reports.map(({ values }) => values["val/loss"]));
  expect(curves(paused)).toEqual(curves(whole));
  expect(resultsOf(paused.dir, 0).models.model!.results).toEqual(resultsOf(whole.dir, 0).models.model!.results);

  const pruned = await ran(SWEEP, { scheduler: onceAtFour("prune") });
  expect(pruned.trials.map(({ status, reports }) => [status, reports.length])).toEqual([
    ["pruned", 1],
    ["pruned", 1],
  ]);
  expect(resultsOf(pruned.dir, 0)).toMatchObject({ status: "interrupted", models: {} });
});

test("one that takes over from another goes on from its checkpoint, with new parameters", async () => {
  const scheduler: Scheduler = {
    name: "takeover",
    decide: ({ number }, { step }, trials) =>
      number === 1 && step === 4 && trials[1]!.reports.length === 1
        ? { kind: "exploit", from: 0, params: { optimizer: { lr: 0.015 } }, reason: "worse" }
        : { kind: "continue" },
  };
  const { trials, dir } = await ran(SWEEP, { scheduler });
  expect(trials[1]).toMatchObject({ status: "completed", attempts: 2, params: { optimizer: { lr: 0.015 } } });
  const { params, training } = resultsOf(dir, 1).models.model!;
  expect(params).toMatchObject({ optimizer: { lr: 0.015 } });
  // The other one had come to its end.
  expect(training!.steps).toBe(12);
  expect(existsSync(join(dir, "trial-001/results.json"))).toBe(true);
});

test("a hook of the sweep hears steps, data and trials alike", async () => {
  const heard = `export const heard = [];
export const listens = () => ({
  name: "listens",
  onTrialStart: ({ trial }) => void heard.push(\`trial \${trial.number}\`),
  onDatasetCreated: () => void heard.push("data"),
  onStepEnd: ({ step }) => void heard.push(step),
  onExperimentEnd: () => console.log("heard:", heard.join(" ")),
});
`;
  const cwd = projectOf({ ...files(`${SWEEP}hooks: ./heard.mjs#listens\n`), "heard.mjs": heard });
  const dir = join(cwd, "runs/s");
  const set = [`dir=${dir}`, "trials=1", "experiment.epochs=1"];
  const doc = await readSweep("sweep.yaml", { cwd, env: {}, set });
  const log = vi.spyOn(console, "log").mockReturnValue();
  const study = new Study({ ...(await buildSweep(doc)), signals: false });
  await recordSweep(dir, doc, [], study.objectives);
  await study.run();
  expect(log).toHaveBeenCalledWith("heard:", "trial 0 data 1 2 3 4");
});

test("the sample of docs/tune.md", async () => {
  const page = readFileSync(new URL("../../docs/tune.md", import.meta.url), "utf8");
  const sample = /```yaml\n(# sweep\.yaml\n[^]*?)```/.exec(page)![1]!;
  const { options } = await built(sample, "experiment.metrics=[accuracy]");
  expect(options).toMatchObject({ name: "digits-sweep", trials: 50, concurrency: 4, runner: { name: "local" } });
  expect(options.space.parameters.map(({ path }) => path)).toEqual([
    "optimizer.lr",
    "optimizer.momentum",
    "optimizer.weightDecay",
  ]);
});
