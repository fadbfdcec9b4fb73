// Experiments that are cut off and go on, and directories that are used again.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { earlyStopping, logger, modelCheckpoint, type Hook, type HostTensors } from "hookline";
import { holdout, kFold, type ExperimentResult } from "hookline/experiment";
import { adamw, cosine } from "hookline/optim";
import { tinyTrainer } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { tempDir } from "../support/temp-dir.ts";
import { tinyExperiment, type TinyExperimentOptions } from "../support/tiny-experiment.ts";

/** Two models of two folds each, two epochs, with hooks and a schedule that remember something. */
const options = (runDir: string, ...hooks: Hook[]): TinyExperimentOptions => ({
  runDir,
  split: kFold({ folds: 2, test: 0.25, val: 0.25 }),
  optimizer: adamw({ lr: 0.1 }),
  schedule: cosine(),
  epochs: 2,
  save: "sync",
  models: { a: {}, b: { seed: 1 } },
  hooks: [earlyStopping({ patience: 2 }), modelCheckpoint({ monitor: "val/loss" }), ...hooks],
});

/** Keeps the parameters of each model when it is complete. */
function keeper(): { hook: Hook; params: Record<string, HostTensors> } {
  const params: Record<string, HostTensors> = {};
  const hook: Hook = {
    name: "keeper",
    onTrainingComplete: async ({ model, trained }) => void (params[model] = await trained.stateDict()),
  };
  return { hook, params };
}

/** Time is another each time. */
const timeless = ({ models }: ExperimentResult) =>
  Object.values(models).map(({ runDir, training, ...rest }) => ({
    ...rest,
    dir: basename(runDir!),
    training: { ...training, elapsed: 0 },
  }));

describe("resume", () => {
  it("trains a complete run further when it may be longer, as if it had been from the start", async () => {
    const runDir = join(tempDir(), "run");
    const plain = (dir: string, epochs: number, ...hooks: Hook[]): TinyExperimentOptions => ({
      runDir: dir,
      split: holdout({ val: 0.25, test: 0.25 }),
      epochs,
      models: { a: {}, b: { seed: 1, epochs: 2 } },
      hooks: [modelCheckpoint({ monitor: "val/loss" }), ...hooks],
    });
    await tinyExperiment(plain(runDir, 2)).run();
    const trained: string[] = [];
    const seen: Hook = { name: "seen", onTrainingComplete: ({ model }) => void trained.push(model) };
    const longer = await tinyExperiment(plain(runDir, 4, seen)).run({ resume: true });
    // The other model has its own limit, and has reached it.
    expect(trained).toEqual(["a"]);
    expect(timeless(longer)).toEqual(timeless(await tinyExperiment(plain(join(tempDir(), "run"), 4)).run()));
    const shorter = await tinyExperiment(plain(runDir, 3, seen)).run({ resume: true });
    expect(timeless(shorter)).toEqual(timeless(longer));
    expect(trained).toEqual(["a"]);
  });

  it("wherever it was cut off, ends as if it never had been, bit for bit", async () => {
    const whole = keeper();
    let steps = 0;
    const counting: Hook = { name: "counting", onStepEnd: () => void steps++ };
    const expected = await tinyExperiment(options(join(tempDir(), "run"), whole.hook, counting)).run();
    // In a fold of the first model, and in the main training of the second.
    for (const cut of [1, steps - 1]) {
      const runDir = join(tempDir(), "run");
      const controller = new AbortController();
      let done = 0;
      const aborter: Hook = { name: "aborter", onStepEnd: () => void (++done === cut && controller.abort()) };
      const kept = keeper();
      const first = await tinyExperiment(options(runDir, aborter, kept.hook)).run({ signal: controller.signal });
      expect(first).toMatchObject({ status: "interrupted", requestedBy: "AbortSignal" });
      const more: Hook = { name: "more", onStepEnd: () => void done++ };
      const second = await tinyExperiment(options(runDir, more, kept.hook)).run({ resume: true });
      expect(done, "no step is done twice").toBe(steps);
      expect(timeless(second)).toEqual(timeless(expected));
      expect(kept.params).toEqual(whole.params);
    }
  });

  it("after an error goes on where it was; a training that had ended is not repeated, though a hook had ended it early", async () => {
    const runDir = join(tempDir(), "run");
    let steps = 0;
    const counting: Hook = {
      name: "counting",
      onStepEnd(ctx) {
        steps++;
        if (ctx.step === 3) ctx.stop("early");
      },
    };
    const whole = keeper();
    const setup = (dir: string, ...hooks: Hook[]) => ({
      ...options(dir, counting, ...hooks),
      split: undefined,
      models: undefined,
      hooks: [counting, modelCheckpoint(), ...hooks],
    });
    const expected = await tinyExperiment(setup(join(tempDir(), "run"), whole.hook)).run();
    steps = 0;
    const bad: Hook = { name: "bad", onTrainingComplete: () => Promise.reject(new Error("a bug")) };
    await expect(tinyExperiment(setup(runDir, bad)).run()).rejects.toThrow("a bug");
    expect(JSON.parse(readFileSync(join(runDir, "results.json"), "utf8"))).toMatchObject({
      status: "error",
      reason: "Hook `bad` failed in `trainingComplete`: Error: a bug",
    });
    const kept = keeper();
    const resumed = await tinyExperiment(setup(runDir, kept.hook)).run({ resume: true });
    expect(steps).toBe(3);
    expect(timeless(resumed)).toEqual(timeless(expected));
    expect(resumed.models.model!.training).toMatchObject({ status: "stopped", reason: "early", steps: 3 });
    expect(kept.params).toEqual(whole.params);
  });

  it("of a complete one does nothing, not even read the data", async () => {
    const runDir = join(tempDir(), "run");
    const result = await tinyExperiment({ runDir }).run();
    const noData = () => Promise.reject<never>(new Error("not needed"));
    expect(await tinyExperiment({ runDir, data: noData }).run({ resume: true })).toEqual(result);
    expect(existsSync(`${runDir}.1`)).toBe(false);
  });

  it("in an empty place is a run like any other; of another seed it is refused", async () => {
    const runDir = join(tempDir(), "run");
    expect((await tinyExperiment({ runDir }).run({ resume: true })).status).toBe("completed");
    await expect(tinyExperiment({ runDir, seed: 1 }).run({ resume: true })).rejects.toThrow(
      "has the seed 0, this one 1",
    );
  });

  it("adds a model to those that are complete", async () => {
    const runDir = join(tempDir(), "run");
    const first = await tinyExperiment({ runDir, models: { a: {} } }).run();
    const both = await tinyExperiment({ runDir, models: { a: {}, b: {} } }).run({ resume: true });
    expect(Object.keys(both.models)).toEqual(["a", "b"]);
    expect(both.models.a).toEqual(first.models.a);
  });
});

describe("a directory that is used again", () => {
  it("is moved aside as a whole when its run has ended, and the new run begins in an empty one", async () => {
    const runDir = join(tempDir(), "run");
    const warnings: string[] = [];
    const hooks = () => [modelCheckpoint(), logger("jsonl")];
    const run = () => tinyExperiment({ runDir, hooks: hooks(), warn: (text) => void warnings.push(text) }).run();
    await run();
    const before = readFileSync(join(runDir, "metrics.jsonl"), "utf8");
    await run();
    await run();
    expect(readFileSync(join(`${runDir}.1`, "metrics.jsonl"), "utf8")).toBe(before);
    expect(readdirSync(join(runDir, "checkpoints"))).toEqual(readdirSync(join(`${runDir}.1`, "checkpoints")));
    expect(existsSync(`${runDir}.2`)).toBe(true);
    expect(warnings).toEqual([1, 2].map((n) => `the last run in ${runDir} (completed) is in ${runDir}.${n} now`));
  });

  const failsAt = (event: "onTrainBegin" | "onStepBegin" | "onStepEnd", step: number): Hook => ({
    name: "bad",
    [event](ctx: { readonly step: number }) {
      if (ctx.step === step) throw new Error("a bug");
    },
  });

  it.each([
    ["training begins", failsAt("onTrainBegin", 0), {}],
    ["its first step", failsAt("onStepBegin", 1), {}],
    ["its first step, in a fold", failsAt("onStepBegin", 1), { split: kFold({ folds: 2 }), models: { a: {}, b: {} } }],
  ])("is taken over when its run failed as %s", async (_, bad, more: TinyExperimentOptions) => {
    const runDir = join(tempDir(), "run");
    mkdirSync(runDir);
    writeFileSync(join(runDir, "notes.txt"), "mine");
    const warnings: string[] = [];
    const run = (...hooks: Hook[]) =>
      tinyExperiment({
        ...more,
        runDir,
        hooks: [modelCheckpoint(), logger(["jsonl", "tensorboard"]), ...hooks],
        warn: (text) => void warnings.push(text),
      }).run();
    await expect(run(bad)).rejects.toThrow("a bug");
    await run();
    expect(warnings).toEqual([`the last run in ${runDir} (error) had not done a step: this one takes its place`]);
    expect(existsSync(`${runDir}.1`)).toBe(false);
    const files = readdirSync(runDir, { recursive: true, encoding: "utf8" });
    expect(files).toContain("notes.txt");
    expect(files.filter((file) => /jsonl\.1|run\.json\.1|step-000000/.test(file))).toEqual([]);
    const events = files.filter((file) => file.includes("tfevents"));
    expect(events).toHaveLength(files.filter((file) => basename(file) === "tb").length);
  });

  it("is moved aside when its run has done a step, whatever it has left", async () => {
    const runDir = join(tempDir(), "run");
    const run = (...hooks: Hook[]) => tinyExperiment({ runDir, hooks, warn: () => undefined }).run();
    for (const [n, bad] of [failsAt("onStepBegin", 2), failsAt("onStepEnd", 2)].entries()) {
      await expect(run(bad)).rejects.toThrow("a bug");
      await run();
      expect(JSON.parse(readFileSync(join(`${runDir}.${2 * n + 1}`, "results.json"), "utf8"))).toMatchObject({
        status: "error",
      });
    }
    await expect(run(modelCheckpoint(), failsAt("onStepEnd", 1))).rejects.toThrow("a bug");
    await run();
    expect(readdirSync(join(`${runDir}.5`, "checkpoints"))).toEqual(["step-000001"]);
  });

  /** As a process that is gone leaves them: its lock, and the socket beside it, would name this one, which is alive. */
  const copyFiles = (from: string, to: string): void =>
    cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".lock") });

  it("is left alone when its run may be running: that is an error with two ways out", async () => {
    const runDir = join(tempDir(), "run");
    const copy = join(tempDir(), "killed");
    const killed: Hook = { name: "killed", onStepEnd: () => copyFiles(runDir, copy) };
    await tinyExperiment({ runDir, hooks: [killed] }).run();
    const again = tinyExperiment({ runDir: copy });
    const left = readdirSync(copy, { recursive: true });
    await expect(again.run()).rejects.toThrow(/has a run that has not ended: .*resume: true.*delete or rename/);
    expect(readdirSync(copy, { recursive: true })).toEqual(left);
    expect((await again.run({ resume: true })).status).toBe("completed");
  });

  it("is refused when it has another run in it, or a results.json that is none of ours", async () => {
    const runDir = join(tempDir(), "run");
    await using trainer = tinyTrainer({ runDir, hooks: [modelCheckpoint()] });
    await trainer.fit();
    await expect(tinyExperiment({ runDir }).run()).rejects.toThrow(
      `already has files of another run (${runDir}/checkpoints)`,
    );
    const other = join(tempDir(), "other");
    mkdirSync(other);
    writeFileSync(join(other, "results.json"), "{}");
    await expect(tinyExperiment({ runDir: other }).run()).rejects.toThrow("results.json is not ours");
    await expect(tinyExperiment({ runDir: other }).run({ resume: true })).rejects.toThrow("results.json is not ours");
  });

  it("is not moved when the program runs in it", async () => {
    const runDir = tempDir();
    const home = process.cwd();
    await tinyExperiment({ runDir }).run();
    try {
      process.chdir(runDir);
      await expect(tinyExperiment({ runDir: "." }).run()).rejects.toThrow(
        "it is the current directory, or contains it",
      );
    } finally {
      process.chdir(home);
    }
  });

  it("nothing is created or moved when the data cannot be read for a first run", async () => {
    const runDir = join(tempDir(), "run");
    await expect(
      tinyExperiment({ runDir, data: () => Promise.reject(new Error("no such file")) }).run(),
    ).rejects.toThrow("no such file");
    expect(existsSync(runDir)).toBe(false);
  });
});
