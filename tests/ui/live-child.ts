// A training in a process of its own that takes commands, at a pace that a person could follow: for pages.test.ts.
import { control, logger, modelCheckpoint } from "../../src/index.ts";
import { DataLoader } from "../../src/data/index.ts";
import { tinyData, tinyTrainer } from "../../src/testing/index.ts";

const [runDir = ""] = process.argv.slice(2);
await using trainer = tinyTrainer({
  runDir,
  steps: 100_000,
  samples: 400,
  eval: new DataLoader(tinyData(8, 2), { batchSize: 8 }),
  logEvery: 1,
  hooks: [
    control(),
    logger("jsonl"),
    modelCheckpoint({ every: "1 epochs" }),
    { name: "pace", onStepEnd: () => new Promise((resolve) => void setTimeout(resolve, 5)) },
  ],
});
await trainer.fit();
