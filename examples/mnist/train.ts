// Trains a small network to read handwritten digits. `npm run demo` runs it; started again after Ctrl-C, or after a
// crash, it resumes. data.ts reads the images, inspect.ts shows what is in a checkpoint.
import { existsSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { earlyStopping, image, logger, modelCheckpoint, progressBar, Trainer, type Hook } from "hookline";
import { DataLoader, split } from "hookline/data";
import { numpy as np } from "hookline/jax";
import { readRun } from "hookline/runs";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import { mnistBytes } from "./data.ts";

// ---------------------------------------------------------------------------------------------------------------------
// Settings
const epochs = 6; // each takes about a second on the native engine, 3 to 7 s on wasm
const batchSize = 128;
const hidden = 256; // one hidden layer is enough for 98 %
const lr = 2e-3; // the peak: warmed up over the first 5 % of the run, then a cosine down to 0
const weightDecay = 0.01;
const seed = 0; // the same seed gives the same run, bit for bit
// npm starts us in examples/ and keeps in INIT_CWD where you were when you called it.
const startedIn = process.env.INIT_CWD ?? ".";
const runDir = resolve(startedIn, "runs/mnist");

// ---------------------------------------------------------------------------------------------------------------------
// A hook of our own: a plain object with a name and a method for each event that it wants to see.

/** Logs, once an epoch, how the first hidden unit looks at a digit: bright where ink excites it. */
const firstUnit: Hook = {
  name: "firstUnit",
  async onEpochEnd(ctx) {
    const { data } = await ctx.params.get("0.weight"); // [256, 784]: a row for each unit
    const row = Float32Array.from(data.subarray(0, 784));
    const most = Math.max(...row.map(Math.abs));
    ctx.log({ "first unit": image({ data: row.map((weight) => 0.5 + weight / most / 2), shape: [28, 28] }) });
  },
};

// ---------------------------------------------------------------------------------------------------------------------
// The run. A twelfth of the training data is held out: the test set is looked at once, at the very end.
const [train, val] = split(mnistBytes("train"), [11 / 12, 1 / 12], seed);

const trainer = new Trainer({
  model: sequential(linear(784, hidden), relu(), linear(hidden, 10)),
  inputs: ({ x }) => x!.astype(np.float32).div(255), // pixels travel as bytes and become 0 to 1 on the device
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adamw({ lr, weightDecay }),
  schedule: cosine({ warmup: "5%" }),
  train: new DataLoader(train, { batchSize, shuffle: true }),
  eval: new DataLoader(val, { batchSize: 500 }),
  epochs,
  seed,
  runDir,
  hooks: [
    firstUnit,
    earlyStopping({ monitor: "val/accuracy", patience: 3 }),
    // The newest and the best checkpoint stay, and one of how the run ends, also on Ctrl-C.
    modelCheckpoint({ monitor: "val/accuracy" }),
    logger(["jsonl", "tensorboard"], { hparams: { hidden, lr, weightDecay, batchSize } }),
    progressBar(),
  ],
});
console.log(trainer.summary());
console.log(`to watch it: npx hookline ui ${relative(startedIn, dirname(runDir)) || "."}`);

const shown = (path: string): string => relative(startedIn, path) || ".";
const checkpoints = join(runDir, "checkpoints");
// A finished run is replaced by a new one. An unfinished one is resumed if it has a checkpoint.
const last = (await readRun(runDir).catch(() => undefined))?.info?.status;
if (last === "completed" || last === "stopped") {
  for (const folder of [checkpoints, join(runDir, "tb")]) rmSync(folder, { recursive: true, force: true });
} else if (existsSync(checkpoints)) console.log(`the last run did not finish; to start over, delete ${shown(runDir)}`);
trainer.on("trainBegin", (ctx) => console.log(`engine: ${ctx.device}`));
trainer.on("afterLoad", (ctx) => console.log(`resuming after step ${ctx.loaded.step}, from ${shown(ctx.loaded.from)}`));

const result = await trainer.fit({ resume: "auto" });

const percent = (share: number | undefined): string =>
  share === undefined ? "none yet" : `${(100 * share).toFixed(2)} %`;
// Ctrl-C ends the run after the current step: its state is saved, and the process ends with code 130.
if (result.status === "interrupted") {
  console.log(`last validation accuracy: ${percent(result.metrics["val/accuracy"])}`);
  console.log("run the same command to resume");
} else {
  const test = await trainer.evaluate(new DataLoader(mnistBytes("test"), { batchSize: 500 }));
  console.log(`test accuracy: ${percent(test["test/accuracy"])}`);
}
const inspect = shown(fileURLToPath(new URL("./inspect.ts", import.meta.url)));
// A line each: short enough for a narrow terminal, and easy to copy.
console.log(`files, in ${shown(runDir)}/:
  metrics.jsonl, run.json, checkpoints/, tb/
the curves, also while it trains:
  npx hookline ui ${shown(dirname(runDir))}
what is in a checkpoint:
  npx tsx ${inspect} ${shown(runDir)}`);
await trainer.close();
