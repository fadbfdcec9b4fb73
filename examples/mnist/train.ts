// Trains a small network to read handwritten digits, with three hooks of its own. `npm run demo` runs it; started again
// after Ctrl-C, or after a crash, it goes on where it was.
//
// What happens around the loop is here, in plain sight: a progress line, a hook that writes the run's files, and one
// that stops when there is nothing more to learn. data.ts reads the images, inspect.ts shows what is in a checkpoint.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bestCheckpoint, modelCheckpoint, Trainer, type Hook } from "hookline";
import { DataLoader, split } from "hookline/data";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import { mnist } from "./data.ts";

// ---------------------------------------------------------------------------------------------------------------------
// Settings
const epochs = 6; // each takes 3 to 7 s on one core of a CPU
const batchSize = 128;
const hidden = 256; // one hidden layer is enough for 98 %
const lr = 2e-3; // the peak: warmed up over the first 5 % of the run, then a cosine down to 0
const weightDecay = 0.01;
const seed = 0; // the same seed gives the same run, bit for bit
// npm starts us in examples/ and keeps in INIT_CWD where you were when you called it.
const startedIn = process.env.INIT_CWD ?? ".";
const runDir = resolve(startedIn, "runs/mnist");

// ---------------------------------------------------------------------------------------------------------------------
// Hooks: plain objects with a name and a method for each event they want to see.

/** One live line on a terminal; elsewhere (a file, a CI log) a plain line every few seconds. */
function progressLine(): Hook {
  const live = process.stdout.isTTY && !process.env.CI;
  const gap = live ? 0.1 : 3; // seconds between two lines
  let next = 0;
  return {
    name: "progressLine",
    stage: "progress", // runs after all others, so it shows what they did
    onStepEnd(ctx) {
      const last = ctx.step === ctx.totalSteps;
      if (ctx.elapsed < next && !last) return;
      next = ctx.elapsed + gap;
      const { step, totalSteps = NaN, elapsed, loss } = ctx;
      const rate = step / elapsed;
      const val = ctx.metrics["val/accuracy"]; // there is none before the first epoch ends
      const line = [
        `step ${step}/${totalSteps}`,
        `${rate.toFixed(0)} steps/s`,
        `${Math.ceil((totalSteps - step) / rate)} s left`,
        `loss ${loss.toFixed(4)}`,
        `lr ${ctx.lr.toExponential(1)}`,
        `val ${val === undefined ? "-" : percent(val)}`,
      ].join(" · ");
      // A line longer than the terminal is wide would wrap, and could not be redrawn.
      process.stdout.write(live ? `\r\x1b[K${line.slice(0, (process.stdout.columns || 80) - 1)}` : `${line}\n`);
    },
    onTrainEnd() {
      if (live) process.stdout.write("\n");
    },
  };
}

/** metrics.jsonl while the run goes on, result.json when it ends, well or badly. */
function runFiles(dir: string): Hook {
  const metricsFile = join(dir, "metrics.jsonl");
  const resultFile = join(dir, "result.json");
  const append = (row: object) => appendFileSync(metricsFile, `${JSON.stringify(row)}\n`);
  return {
    name: "runFiles",
    stage: "logger", // an error here (a full disk) warns and does not end the training
    onTrainBegin(ctx) {
      mkdirSync(dir, { recursive: true });
      // A run that goes on from a checkpoint does the steps after it once more: their rows go.
      const rows = ctx.step > 0 && existsSync(metricsFile) ? readFileSync(metricsFile, "utf8").split("\n") : [];
      const kept = rows.filter((row) => row.endsWith("}") && (JSON.parse(row) as { step: number }).step <= ctx.step);
      writeFileSync(metricsFile, kept.map((row) => `${row}\n`).join(""));
      rmSync(resultFile, { force: true }); // without a result the run is not finished, however it ends
    },
    // `log` comes every 10 steps and after each epoch, with the loss, the rate and what is new since the last one.
    onLog: (ctx) => append({ step: ctx.step, ...ctx.logged }),
    onTrainEnd(ctx) {
      const { status, reason, step, elapsed, metrics } = ctx;
      const best = ctx.shared.get(bestCheckpoint)?.name;
      const result = { status, reason, step, elapsed, metrics, best };
      writeFileSync(resultFile, `${JSON.stringify(result, null, 2)}\n`);
    },
    // Evaluations inside the run are part of `log`; this is `trainer.evaluate`, at the end of this file.
    onEvalEnd(ctx) {
      if (ctx.phase === "standalone") append({ step: ctx.step, ...ctx.evalMetrics });
    },
  };
}

/** Did the run before this one come to its end? Not if it was interrupted, failed, or was killed before it could say so. */
function lastRunFinished(dir: string): boolean {
  try {
    const { status } = JSON.parse(readFileSync(join(dir, "result.json"), "utf8")) as { status: string };
    return status === "completed" || status === "stopped";
  } catch {
    return false;
  }
}

/** Stops the run when the validation accuracy has not improved for `patience` evaluations. */
function stopWhenFlat(patience: number): Hook {
  let best = 0;
  let flat = 0;
  return {
    name: "stopWhenFlat",
    onEvalEnd(ctx) {
      const now = ctx.evalMetrics["val/accuracy"];
      if (now === undefined) return; // the test set
      flat = now > best ? 0 : flat + 1;
      best = Math.max(best, now);
      if (flat >= patience) ctx.stop(`no better than ${percent(best)} for ${patience} evaluations`);
    },
    // Kept in every checkpoint, so that a run that goes on does not forget what it has seen.
    state: () => ({ json: { best, flat } }),
    load: ({ json }) => void ({ best, flat } = json as { best: number; flat: number }),
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

// ---------------------------------------------------------------------------------------------------------------------
// The run. A twelfth of the training data is held out: the test set is looked at once, at the very end.
const [train, val] = split(mnist("train"), [11 / 12, 1 / 12], seed);

const trainer = new Trainer({
  model: sequential(linear(784, hidden), relu(), linear(hidden, 10)),
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adamw({ lr, weightDecay }),
  schedule: cosine({ warmup: "5%" }),
  train: new DataLoader(train, { batchSize, shuffle: true }),
  eval: new DataLoader(val, { batchSize: 500 }),
  epochs,
  seed,
  runDir,
  // The newest checkpoint and the best one stay, and one of how the run ends, also on Ctrl-C.
  hooks: [progressLine(), runFiles(runDir), stopWhenFlat(3), modelCheckpoint({ monitor: "val/accuracy" })],
});

console.log(trainer.summary());
const shown = (path: string): string => relative(startedIn, path) || ".";
const checkpoints = join(runDir, "checkpoints");
// A finished run makes way for a new one. One that is not goes on, if it has saved anything to go on from.
if (lastRunFinished(runDir)) rmSync(checkpoints, { recursive: true, force: true });
else if (existsSync(checkpoints)) console.log(`the last run did not finish; to start anew, delete ${shown(runDir)}`);
trainer.on("afterLoad", (ctx) => console.log(`going on after step ${ctx.loaded.step}, from ${shown(ctx.loaded.from)}`));
const result = await trainer.fit({ resume: "auto" });
console.log(`${result.status} after ${result.steps} steps and ${result.elapsed.toFixed(1)} s (${result.reason})`);

// Ctrl-C ends the run after the step at hand: the files are written, and the process ends with code 130.
if (result.status === "interrupted") {
  const last = result.metrics["val/accuracy"];
  console.log(`last validation accuracy: ${last === undefined ? "none yet" : percent(last)}`);
  console.log("the same command goes on from here");
} else {
  const test = await trainer.evaluate(new DataLoader(mnist("test"), { batchSize: 500 }));
  console.log(`test accuracy: ${percent(test["test/accuracy"]!)}`);
}
console.log(`files: ${shown(runDir)}/metrics.jsonl, result.json and checkpoints/`);
console.log(
  `what is in a checkpoint: npx tsx ${shown(fileURLToPath(new URL("./inspect.ts", import.meta.url)))} ${shown(runDir)}`,
);
await trainer.close();
