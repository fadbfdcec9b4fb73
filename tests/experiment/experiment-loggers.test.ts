// Loggers in an experiment: each model, with the evaluation that follows its training, is one run for them.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { logger, modelCheckpoint, type Hook, type Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { holdout, kFold } from "hookline/experiment";
import { consoleLog, tensorboard, type LoggerBackend } from "hookline/loggers";
import { readRun } from "hookline/runs";
import { tinyData } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { readScalars } from "../support/event-file.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyExperiment, type TinyExperimentOptions } from "../support/tiny-experiment.ts";

/** What it is told, in short. */
function noting(changes: Partial<LoggerBackend> = {}): { readonly backend: LoggerBackend; readonly told: string[] } {
  const told: string[] = [];
  const backend: LoggerBackend = {
    name: "noting",
    open: ({ resumedAt }) => void told.push(resumedAt === undefined ? "open" : `open at ${resumedAt}`),
    log: ({ step, scalars }) => void told.push([step, ...Object.keys(scalars).filter((n) => n !== "lr")].join(" ")),
    close: ({ status, reason }) => void told.push(`close ${status}: ${reason}`),
    ...changes,
  };
  return { backend, told };
}

const more = (): DataLoader => new DataLoader(tinyData(4, 3), { batchSize: 4 });

/** Logs what evaluations say, and nothing else. */
const quiet = { logEvery: { every: 1000 } } satisfies TinyExperimentOptions;

describe("an experiment's loggers", () => {
  it("are opened once, get the final evaluation at the last step, and are closed once", async () => {
    const { backend, told } = noting();
    await tinyExperiment({ ...quiet, hooks: [logger(backend)] }).run();
    expect([told[0], ...told.slice(-2)]).toEqual(["open", "2 test/loss", "close completed: 1 epoch"]);
    expect(told.filter((line) => /^(?:open|close)/.test(line))).toHaveLength(2);
  });

  it("show the evaluation of the best checkpoint at its step in TensorBoard", async () => {
    const runDir = join(tempDir(), "run");
    // From the second epoch on the loss rises: the first epoch's checkpoint is the best.
    const worse: Hook = { name: "worse", onEpochEnd: ({ optimizers }) => void (optimizers[0]!.groups[0]!.lr = 50) };
    const hooks = [worse, modelCheckpoint({ monitor: "val/loss" }), logger(["jsonl", "tensorboard"])];
    const split = holdout({ val: 0.25, test: 0.25 });
    const { models } = await tinyExperiment({ ...quiet, runDir, split, epochs: 3, hooks }).run();
    const { steps } = models.model!.training;
    const best = Number(/\d+$/.exec(models.model!.checkpoint!)![0]);
    expect(best).toBeLessThan(steps);
    expect(readScalars(join(runDir, "tb")).filter(({ tag }) => tag === "test/loss")).toMatchObject([{ step: best }]);
    // The files of the run are in the order in which it was written: the evaluation came last.
    expect([...(await readRun(runDir)).get("test/loss").steps]).toEqual([steps]);
  });

  it("end with each model and each fold, before the next begins", async () => {
    const { backend, told } = noting();
    const split = kFold({ folds: 2, test: 0.25 });
    await tinyExperiment({ ...quiet, split, models: { a: {}, b: {} }, hooks: [logger(backend)] }).run();
    const ends = told.filter((line) => /^(?:open|close)/.test(line)).map((line) => line.split(" ")[0]);
    expect(ends).toEqual(Array.from({ length: 6 }, () => ["open", "close"]).flat());
  });

  it("see what hooks evaluate in between as part of the same run", async () => {
    const { backend, told } = noting();
    const looks: Hook = {
      name: "looks",
      onTrainingComplete: async ({ trained }) => void (await trained.evaluate(more(), { name: "more" })),
    };
    await tinyExperiment({ ...quiet, hooks: [logger(backend), looks] }).run();
    expect(told.slice(-3)).toEqual(["2 more/loss", "2 test/loss", "close completed: 1 epoch"]);
    expect(told.filter((line) => line === "open")).toHaveLength(1);
  });

  it("begin another part when the final evaluation trains on", async () => {
    const { backend, told } = noting();
    const evaluate = async (trainer: Trainer): Promise<Record<string, number>> => {
      await trainer.fit({ epochs: 2 });
      return trainer.evaluate(more());
    };
    await tinyExperiment({ ...quiet, evaluate, hooks: [logger(backend)] }).run();
    expect(told.filter((line) => /^(?:open|close)/.test(line))).toEqual([
      "open",
      "close completed: 1 epoch",
      "open at 2",
      "close completed: 2 epochs",
    ]);
  });

  it.each([
    ["trainingComplete", { onTrainingComplete: () => Promise.reject(new Error("a bug")) }, "close completed: 1 epoch"],
    ["evalEnd of the test", { onEvalEnd: failsOnTest }, "close completed: 1 epoch"],
    ["a step", { onStepEnd: () => Promise.reject(new Error("a bug")) }, "close error: "],
  ])("are closed although a hook fails in %s", async (_, methods, last) => {
    const { backend, told } = noting();
    const bad: Hook = { name: "bad", ...methods };
    await expect(tinyExperiment({ ...quiet, hooks: [logger(backend), bad] }).run()).rejects.toThrow("a bug");
    expect(told.filter((line) => line.startsWith("close"))).toEqual([expect.stringMatching(`^${last}`)]);
  });

  it("one that never comes to its end does not hold up the experiment", async () => {
    const { backend } = noting({ close: () => new Promise(() => undefined) });
    const warnings: string[] = [];
    const warn = (text: string): void => void warnings.push(text);
    const result = await tinyExperiment({ closeTimeout: 50, warn, hooks: [logger(backend)] }).run();
    expect(result.status).toBe("completed");
    expect(warnings).toEqual(["Hook `logger` failed in `close`: Error: did not finish within 50 ms"]);
  });

  it("the console says once how it ended; TensorBoard has one file", async () => {
    const runDir = join(tempDir(), "run");
    const lines: string[] = [];
    const screen = consoleLog({ plain: false, color: false, write: (text) => void lines.push(...text.split("\n")) });
    await tinyExperiment({ ...quiet, runDir, hooks: [logger([screen, tensorboard()])] }).run();
    expect(lines.join("\n")).not.toContain("goes on");
    expect(lines.filter((line) => line.includes("completed after"))).toHaveLength(1);
    expect(lines.findIndex((line) => line.includes("test/loss"))).toBeGreaterThan(-1);
    expect(readdirSync(join(runDir, "tb"))).toHaveLength(1);
  });
});

function failsOnTest({ loaderName }: { readonly loaderName: string }): void {
  if (loaderName === "test") throw new Error("a bug");
}
