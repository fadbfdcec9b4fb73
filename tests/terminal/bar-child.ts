// A run with a progress bar, for screens.test.ts: its losses and its clock are made up, so that it always looks the same.
// Where it is told to, it holds still until the reader has looked.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoryStore } from "../../src/checkpoint/index.ts";
import { DataLoader } from "../../src/data/index.ts";
import { progressBar, type ProgressBarOptions } from "../../src/hooks/progress-bar/progress-bar.ts";
import { Trainer, type Hook, type LossModel } from "../../src/index.ts";
import { sgd } from "../../src/optim/index.ts";
import { LoggerRun } from "./logger-run.ts";

export interface BarChild {
  /** Where the run says that it holds, and is told to go on. */
  readonly folder: string;
  /** Where to hold: `step 12`, `batch 3` (of an evaluation). */
  readonly holds?: readonly string[];
  readonly bar?: ProgressBarOptions;
  readonly epochs?: number;
  /** Milliseconds of a step. Default 40. */
  readonly stepMs?: number;
  /** The length of the data is not known. */
  readonly endless?: boolean;
  /** Prints in every way there is, in this step. */
  readonly chatterAt?: number;
  /** Throws in this step. */
  readonly failAt?: number;
  /** Ends the process with an error that nobody catches, in this step. */
  readonly crashAt?: number;
  /** Interrupts itself at this step, and goes on from there in a run of its own. */
  readonly resumeAt?: number;
  /** Also prints what is logged, in columns. */
  readonly logs?: boolean;
  readonly signals?: boolean;
  /** A loss that is not a number, from this step on. */
  readonly nanAt?: number;
  /** Evaluates on its own at the end. */
  readonly test?: boolean;
}

const options = JSON.parse(process.argv[2] ?? "{}") as BarChild;
const { epochs = 3, stepMs = 40 } = options;
const STEPS = 20;
const EVAL_BATCHES = 10;

let clock = 1000;
performance.now = () => clock;

/** The mean of the batch, whatever the parameters are. */
const model: LossModel = {
  params: { w: { data: new Float32Array(1), shape: [1] } },
  loss: (params, batch) => batch.y!.mean().add(params.w!.mul(0).sum()),
};

const curve = Float32Array.from({ length: STEPS }, (_, i) => 0.1 + 2.2 * Math.exp(-i / 6) + 0.05 * Math.sin(3 * i));
if (options.nanAt !== undefined) curve.fill(Number.NaN, options.nanAt - 1);
const val = Float32Array.from({ length: EVAL_BATCHES }, (_, i) => 0.25 + 0.01 * i);

async function hold(at: string): Promise<void> {
  if (!options.holds?.includes(at)) return;
  const file = (kind: string): string => join(options.folder, `${kind} ${at}`);
  writeFileSync(file("at"), "");
  while (!existsSync(file("go"))) await new Promise((resolve) => setTimeout(resolve, 10));
}

function chatter(): void {
  console.log("a line of console.log");
  console.warn("a line of console.warn");
  process.stdout.write("half a line, ");
  process.stdout.write(new TextEncoder().encode("and its other half: ✓\n"));
  process.stdout.write("several\nlines at once\n");
  process.stdout.write("an unfinished one …");
}

const drive: Hook = {
  name: "drive",
  onStepBegin: () => void (clock += stepMs),
  onStepEnd(ctx) {
    if (ctx.step === options.chatterAt) chatter();
    if (ctx.step === options.failAt) throw new Error("the data ran away\nand took the model with it");
    if (ctx.step === options.crashAt) setTimeout(() => Promise.reject(new Error("nobody caught this")), 0);
  },
  onEvalBatchBegin: () => void (clock += 125),
};
/** After the bar has drawn. */
const holder: Hook = {
  name: "holder",
  stage: "progress",
  after: "progressBar",
  onError: "throw",
  onStepEnd: (ctx) => hold(`step ${ctx.step}`),
  onEvalBatchEnd: (ctx) => hold(`batch ${ctx.batchIdx}`),
};

const store = memoryStore();
function trainer(resumable: boolean): Trainer {
  const stop: Hook = {
    name: "stop",
    onStepEnd(ctx) {
      if (ctx.step !== options.resumeAt) return;
      ctx.requestSave();
      ctx.stop("to go on later");
    },
  };
  const logs: Hook[] = options.logs ? [new LoggerRun()] : [];
  return new Trainer({
    model,
    optimizer: sgd({ lr: 0.05 }),
    train: options.endless ? new DataLoader(() => rows(curve)) : new DataLoader({ y: curve }, { batchSize: 1 }),
    eval: new DataLoader({ y: val }, { batchSize: 1 }),
    epochs,
    logEvery: 5,
    engine: "wasm",
    store,
    save: "sync",
    signals: options.signals ?? true,
    hooks: [drive, ...(resumable ? [stop] : []), ...logs, progressBar(options.bar), holder],
  });
}

function* rows(values: Float32Array) {
  for (const value of values) yield { y: { data: Float32Array.of(value), shape: [1] } };
}

if (options.resumeAt !== undefined) {
  await trainer(true).fit();
  // A long time between the parts is no part of the run.
  clock += 1e7;
}
const last = trainer(false);
try {
  await last.fit(options.resumeAt === undefined ? {} : { resume: "auto" });
} catch (error) {
  console.log(`caught: ${(error as Error).message.split("\n", 1)[0]}`);
}
if (options.test) await last.evaluate(new DataLoader({ y: val }, { batchSize: 2 }));
console.log("the program goes on");
