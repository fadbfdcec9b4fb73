// The canonical traces of an experiment: its own events, and where those of its trainings lie between them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelCheckpoint, type Hook } from "hookline";
import { kFold } from "hookline/experiment";
import { recordTrace, type TraceOptions } from "hookline/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { outline } from "../support/outline.ts";
import { tinyExperiment, type TinyExperimentOptions } from "../support/tiny-experiment.ts";

/** Those inside a step have traces of their own. */
const EVENTS: NonNullable<TraceOptions["events"]> = [
  "dataRead",
  "datasetCreated",
  "init",
  "beforeLoad",
  "afterLoad",
  "trainBegin",
  "epochBegin",
  "stepBegin",
  "stepEnd",
  "evalBegin",
  "evalEnd",
  "epochEnd",
  "beforeSave",
  "afterSave",
  "exception",
  "trainEnd",
  "close",
  "trainingComplete",
  "evaluationComplete",
];

async function trace(options: TinyExperimentOptions, ...hooks: Hook[]): Promise<string> {
  const recorder = recordTrace({ events: EVENTS });
  const outcome = await tinyExperiment({ ...options, hooks: [...hooks, recorder] })
    .run()
    .then(
      ({ status, reason, models }) => `${status}: ${reason}; complete: ${Object.keys(models).join(" ") || "none"}`,
      (error: Error) => `failed: ${error.message}`,
    );
  return `${outline(recorder.entries)}${outcome}\n`;
}

const golden = (name: string): string => `./golden/experiment-${name}.txt`;

describe("golden traces of an experiment", () => {
  test("one model", async () => {
    await expect(await trace({})).toMatchFileSnapshot(golden("one-model"));
  });

  test("several models", async () => {
    const models = { short: { steps: 1 }, long: { epochs: 2 } };
    await expect(await trace({ models })).toMatchFileSnapshot(golden("several-models"));
  });

  test("folds, whose trainings come first", async () => {
    const split = kFold({ folds: 2, test: 0.25 });
    await expect(await trace({ split })).toMatchFileSnapshot(golden("folds"));
  });

  test("stop in dataRead", async () => {
    const stopper: Hook = { name: "stopper", onDataRead: (ctx) => ctx.stop("too few rows") };
    await expect(await trace({}, stopper)).toMatchFileSnapshot(golden("stop-in-data-read"));
  });

  test("stop in trainingComplete", async () => {
    const stopper: Hook = { name: "stopper", onTrainingComplete: (ctx) => ctx.stop("good enough") };
    const models = { a: {}, b: {} };
    await expect(await trace({ models }, stopper)).toMatchFileSnapshot(golden("stop-in-training-complete"));
  });

  test("exception in the second model's training", async () => {
    const bad: Hook = {
      name: "bad",
      onStepEnd: (ctx) => {
        if (ctx.step === 2) throw new Error("no");
      },
    };
    const models = { a: { steps: 1 }, b: { hooks: [bad] }, c: {} };
    await expect(await trace({ models })).toMatchFileSnapshot(golden("exception-in-training"));
  });

  test("exception in evaluationComplete", async () => {
    const bad: Hook = {
      name: "bad",
      onEvaluationComplete: () => {
        throw new Error("no");
      },
    };
    await expect(await trace({}, bad)).toMatchFileSnapshot(golden("exception-in-hook"));
  });

  test("resume: the model that was complete is left alone, the other goes on", async () => {
    const runDir = mkdtempSync(join(tmpdir(), "hookline-"));
    onTestFinished(() => rmSync(runDir, { recursive: true, force: true }));
    const controller = new AbortController();
    const aborter: Hook = { name: "aborter", onStepEnd: (ctx) => void (ctx.step === 3 && controller.abort()) };
    const models = { a: {}, b: { epochs: 2 } };
    const options = { models, runDir: join(runDir, "run"), save: "sync" } as const;
    const first = tinyExperiment({ ...options, hooks: [aborter, modelCheckpoint()] });
    expect((await first.run({ signal: controller.signal })).status).toBe("interrupted");
    const recorder = recordTrace({ events: EVENTS });
    await tinyExperiment({ ...options, hooks: [modelCheckpoint(), recorder] }).run({ resume: true });
    await expect(outline(recorder.entries)).toMatchFileSnapshot(golden("resume"));
  });
});
