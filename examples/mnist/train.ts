// Trains a small network to read handwritten digits, with three hooks of its own. `npm run demo` runs it.
//
// What happens around the loop is here, in plain sight: a progress line, a hook that writes the run's files, and one
// that stops when there is nothing more to learn. data.ts reads the images.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Trainer, type Hook } from "hookline";
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
const runDir = resolve(process.env.INIT_CWD ?? ".", "runs/mnist");

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
  const append = (row: object) => appendFileSync(join(dir, "metrics.jsonl"), `${JSON.stringify(row)}\n`);
  return {
    name: "runFiles",
    stage: "logger", // an error here (a full disk) warns and does not end the training
    onTrainBegin() {
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, "metrics.jsonl"), "");
    },
    // `log` comes every 10 steps and after each epoch, with the loss, the rate and what is new since the last one.
    onLog: (ctx) => append({ step: ctx.step, ...ctx.logged }),
    onTrainEnd(ctx) {
      const { status, reason, step, elapsed, metrics } = ctx;
      const result = { status, reason, step, elapsed, metrics };
      writeFileSync(join(dir, "result.json"), `${JSON.stringify(result, null, 2)}\n`);
    },
    // Evaluations inside the run are part of `log`; this is `trainer.evaluate`, at the end of this file.
    onEvalEnd(ctx) {
      if (ctx.phase === "standalone") append({ step: ctx.step, ...ctx.evalMetrics });
    },
  };
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
  hooks: [progressLine(), runFiles(runDir), stopWhenFlat(3)],
});

console.log(trainer.summary());
const result = await trainer.fit();
console.log(`${result.status} after ${result.steps} steps and ${result.elapsed.toFixed(1)} s (${result.reason})`);

// Ctrl-C ends the run after the step at hand: the files are written, and the process ends with code 130.
if (result.status === "interrupted") {
  const last = result.metrics["val/accuracy"];
  console.log(`last validation accuracy: ${last === undefined ? "none yet" : percent(last)}`);
} else {
  const test = await trainer.evaluate(new DataLoader(mnist("test"), { batchSize: 500 }));
  console.log(`test accuracy: ${percent(test["test/accuracy"]!)}`);
}
console.log(`files: ${relative(process.env.INIT_CWD ?? ".", runDir)}/metrics.jsonl and result.json`);
await trainer.close();
