// What the logs of a run hold after it has failed and was resumed: every record once.
import { readdirSync, readFileSync } from "node:fs";
import { logger, modelCheckpoint, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { readScalars } from "../support/event-file.ts";
import { tempDir } from "../support/temp-dir.ts";

const EPOCHS = 3;

async function train(runDir: string, ...hooks: Hook[]): Promise<void> {
  await using trainer = tinyTrainer({
    runDir,
    epochs: EPOCHS,
    logEvery: 2,
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
    // Every epoch's last step is saved before the epoch's own record.
    hooks: [modelCheckpoint({ every: "2 steps" }), logger(["jsonl", "csv", "tensorboard"]), ...hooks],
  });
  await trainer.fit({ resume: "auto" });
}

function logsIn(runDir: string): Record<string, unknown[]> {
  const lines = (file: string): string[] => readFileSync(`${runDir}/${file}`, "utf8").trimEnd().split("\n").slice(1);
  const records = lines("metrics.jsonl").map((line) => JSON.parse(line) as Record<string, number>);
  return {
    jsonl: records.map(({ step, loss, "val/loss": val }) => [step, loss, val]),
    csv: lines("metrics.csv").map((row) => Number.parseInt(row, 10)),
    tensorboard: readScalars(`${runDir}/tb`).filter(({ tag }) => !tag.startsWith("perf/")),
  };
}

/** Fails once, while the loggers before it write the record. */
const failing = (when: (logged: Readonly<Record<string, number>>) => boolean): Hook => ({
  name: "failing",
  stage: "logger",
  onError: "throw",
  onLog({ step, logged }) {
    if (step === 8 && when(logged)) throw new Error("as planned");
  },
});

test.each([
  ["the last step of an epoch", (logged: object) => !("val/loss" in logged)],
  ["an epoch", (logged: object) => "val/loss" in logged],
])("a run that fails while %s is logged has the same records once it is resumed", async (_, when) => {
  const [whole, failed] = [tempDir(), tempDir()];
  await train(whole);
  await expect(train(failed, failing(when))).rejects.toThrow("as planned");
  await train(failed);
  expect(logsIn(failed)).toEqual(logsIn(whole));
  expect(logsIn(whole).jsonl).toHaveLength(3 * EPOCHS);
});

test("fit, evaluate and a longer fit of one trainer are one run with one file for each logger", async () => {
  const runDir = tempDir();
  await using trainer = tinyTrainer({
    runDir,
    logEvery: 2,
    hooks: [logger(["jsonl", "csv", "tensorboard"])],
  });
  const test = new DataLoader(tinyData(4), { batchSize: 4 });
  await trainer.fit();
  await trainer.evaluate(test);
  await trainer.evaluate(test, { name: "other" });
  await trainer.fit({ epochs: 2 });
  expect(readdirSync(`${runDir}/tb`)).toHaveLength(1);
  expect(readdirSync(runDir).filter((name) => !name.startsWith("."))).toEqual([
    "events.jsonl",
    "metrics.csv",
    "metrics.jsonl",
    "run.json",
    "tb",
  ]);
  expect(logsIn(runDir).csv).toEqual([2, 4, 4, 4, 4, 6, 8, 8]);
  const shown = readScalars(`${runDir}/tb`).map(({ step, tag }) => `${step} ${tag}`);
  expect(shown).toEqual(expect.arrayContaining(["4 test/loss", "4 other/loss", "8 train/loss"]));
  const lasting = shown.filter((each) => !each.includes("perf/"));
  expect(new Set(lasting).size).toBe(lasting.length);
});
