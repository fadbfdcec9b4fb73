// A training on the native engine in a process of its own, with epochs, evaluations, top-3 checkpoints, EMA and three
// loggers. It resumes from its newest checkpoint, and prints a note at each step and at its end.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DataLoader, Rng } from "../../src/data/index.ts";
import { ema, logger, modelCheckpoint, Trainer } from "../../src/index.ts";
import { linear, mse, sequential, tanh } from "../../src/nn/index.ts";
import { adamw, cosine } from "../../src/optim/index.ts";

export interface LoggedTrainingOptions {
  readonly runDir: string;
  readonly epochs: number;
  /** Milliseconds between two steps: time for the background writes, so that a kill can hit them. */
  readonly pause: number;
}

export interface LoggedTrainingNote {
  readonly note: "starting" | "step" | "result";
  readonly step: number;
  /** Of `result`: a digest of the parameters. */
  readonly digest?: string;
  readonly warnings?: readonly string[];
}

const { runDir, epochs, pause } = JSON.parse(process.argv[2]!) as LoggedTrainingOptions;
const FEATURES = 8;
const tell = (note: LoggedTrainingNote): void => void process.stdout.write(`${JSON.stringify(note)}\n`);

/** The outputs are the inputs, so that the loss falls and there is a new best now and then. */
function data(count: number, seed: number) {
  const rng = new Rng(seed);
  const x = { data: Float32Array.from({ length: count * FEATURES }, () => rng.normal()), shape: [count, FEATURES] };
  return { x, y: x };
}

const warnings: string[] = [];
const trainer = new Trainer({
  model: sequential(linear(FEATURES, 16), tanh(), linear(16, FEATURES)),
  loss: mse(),
  optimizer: adamw({ lr: 1e-3 }),
  schedule: cosine({ warmup: 5 }),
  // 8 steps in an epoch: every second checkpoint is taken at an epoch's last step, before the epoch's own record.
  train: new DataLoader(data(64, 1), { batchSize: 8, shuffle: true }),
  eval: new DataLoader(data(16, 2), { batchSize: 8 }),
  epochs,
  logEvery: 2,
  seed: 7,
  engine: "native",
  runDir,
  hooks: [
    ema({ decay: 0.9 }),
    modelCheckpoint({ every: "4 steps", saveLast: 2 }),
    modelCheckpoint({ name: "best", monitor: "val/loss", saveTopK: 3, saveLast: false, atEnd: false }),
    // Flushed at every record, so that the files are ahead of the checkpoints when the kill comes.
    logger(["jsonl", "csv", "tensorboard"], { flushEvery: 0 }),
    {
      name: "notes",
      onTrainBegin: ({ step }) => tell({ note: "starting", step }),
      async onStepEnd({ step }) {
        tell({ note: "step", step });
        if (pause > 0) await sleep(pause);
      },
    },
  ],
  warn: (message) => void warnings.push(message),
});
const { steps: step } = await trainer.fit({ resume: "auto" });
const hash = createHash("sha256");
for (const [name, { data: values }] of Object.entries(await trainer.stateDict()))
  hash.update(name).update(values as Uint8Array);
await trainer.close();
tell({ note: "result", step, digest: hash.digest("hex"), warnings });
