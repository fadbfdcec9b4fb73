// The best checkpoint of a run: from its results, from what modelCheckpoint recorded, or the newest.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelCheckpoint, type Hook, type ModelCheckpointOptions } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeResults } from "../../runs/results.ts";
import { chooseCheckpoint } from "./choose-checkpoint.ts";

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "choose-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A run whose metric `val/x` has these values, one after each epoch of two steps. */
async function train(values: readonly number[], options: ModelCheckpointOptions, runDir = dir): Promise<void> {
  const left = [...values];
  const scripted: Hook = {
    name: "scripted",
    logs: ["val/x"],
    onEvalEnd: (ctx) => ctx.log({ "val/x": left.shift()! }),
  };
  const evals = new DataLoader(tinyData(4), { batchSize: 4 });
  const hooks = [scripted, modelCheckpoint(options)];
  await using trainer = tinyTrainer({ runDir, samples: 8, epochs: values.length, eval: evals, hooks });
  await trainer.fit();
}

const chosen = async (wanted = "best"): Promise<string> => {
  const { checkpoint, why } = await chooseCheckpoint(dir, wanted);
  return `${checkpoint.name} ${why}`;
};

describe("what modelCheckpoint recorded", () => {
  it.each([
    ["in the middle", [3, 1, 2], {}, "step-000004 best"],
    ["at the end", [3, 2, 1], {}, "step-000006 best"],
    ["at the beginning", [1, 2, 3], {}, "step-000002 best"],
    ["with several kept", [2, 1, 3, 1.5], { saveTopK: 3 }, "step-000004 best"],
    ["among the best at the end, but not better", [1, 2, 1.5], { saveTopK: 3 }, "step-000002 best"],
    ["where more is better, though the name does not say so", [1, 3, 2], { mode: "max" }, "step-000004 best"],
    ["the same, at the end", [1, 2, 3], { mode: "max", saveTopK: 2 }, "step-000006 best"],
  ] as const)("%s", async (_, values, options, expected) => {
    await train(values, { monitor: "val/x", ...options });
    expect(await chosen()).toBe(expected);
  });

  it("is nothing without a monitor: then it is the newest, and that is said", async () => {
    await train([1, 2], { every: "1 epoch", saveLast: 2 });
    expect(await chosen()).toBe("step-000004 newest");
  });
});

const COMPLETED = {
  name: "x",
  status: "completed",
  reason: "",
  requestedBy: "",
  seed: 0,
  startedAt: 0,
  endedAt: 1,
} as const;

it("the results of an experiment come first", async () => {
  await train([3, 1, 2], { monitor: "val/x" });
  const models = { model: { complete: true, params: {}, checkpoint: "step-000006", results: { "test/loss": 7 } } };
  await writeResults(dir, { ...COMPLETED, models });
  const { checkpoint, results } = await chooseCheckpoint(dir, "best");
  expect([checkpoint.name, results!.results]).toEqual(["step-000006", { "test/loss": 7 }]);
});

it("the last, and one by its name", async () => {
  await train([3, 1, 2], { monitor: "val/x" });
  expect(await chosen("last")).toBe("step-000006 last");
  expect(await chosen("step-000004")).toBe("step-000004 named");
  await expect(chosen("step-000005")).rejects.toThrow(
    `${dir} has no checkpoint \`step-000005\`. Did you mean \`step-000006\`? It has: best, last, step-000006, step-000004.`,
  );
});

it("a model of an experiment with several, and the directory of them all", async () => {
  await train([2, 1], { monitor: "val/x" }, join(dir, "small"));
  const models = {
    small: { complete: true, params: {}, checkpoint: "step-000004" },
    large: { complete: false, params: {} },
  };
  await writeResults(dir, { ...COMPLETED, models });
  expect((await chooseCheckpoint(join(dir, "small"), "best")).results).toEqual(models.small);
  await expect(chosen()).rejects.toThrow(`several models. Give one of them: ${dir}/small, ${dir}/large.`);
});

it("a directory without checkpoints", async () => {
  await expect(chosen()).rejects.toThrow(`${dir} has no checkpoints. Train with the hook \`modelCheckpoint\`.`);
});
