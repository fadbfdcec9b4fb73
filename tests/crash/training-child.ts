// Training runs with checkpoints in a process of their own, one after the other, told by JSON what to do. Each line it
// prints is a note: the reader sends signals, or kills, when it likes. All runs of the same length end the same, bit for bit.
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { inspectCheckpoint } from "../../src/checkpoint/index.ts";
import { DataLoader, Rng } from "../../src/data/index.ts";
import { ema, logger, modelCheckpoint, Trainer, type Hook } from "../../src/index.ts";
import { dropout, linear, mse, sequential, tanh } from "../../src/nn/index.ts";
import { adamw, cosine } from "../../src/optim/index.ts";
import { failingDisk, type Fault } from "./failing-disk.ts";

export interface TrainingOptions {
  /** Each gets its result before the next begins. */
  readonly runs: readonly TrainingRun[];
  readonly steps: number;
  /** Width of the model: with 256 a step takes some 5 ms, and a checkpoint has 4 MB. Default 256. */
  readonly features?: number;
  /** Also writes jsonl, CSV and TensorBoard files. */
  readonly logs?: boolean;
  /** Notes of every step. */
  readonly tellSteps?: boolean;
}

export interface TrainingRun {
  readonly runDir: string;
  readonly resume?: boolean;
  /** Before the first step it waits for a signal. */
  readonly waits?: boolean;
  readonly fault?: Fault;
  /** After its tenth step here, something fails that nothing catches: once, or every few milliseconds. */
  readonly uncaught?: "timer" | "timers" | "rejection";
  /** A handler of the program's own for that. */
  readonly ownHandler?: boolean;
}

export interface TrainingNote {
  readonly note: "starting" | "running" | "step" | "evaluating" | "saving" | "saved" | "signal" | "failed" | "result";
  readonly at: number;
  readonly step?: number;
  /** Of `saved`. */
  readonly reason?: string;
  /** Of `signal`: what was going on when the process heard of it. */
  readonly during?: "start" | "step" | "eval" | "save";
  /** Of `failed`: by which error. */
  readonly error?: Failure;
  /** Of `failed` and `result`. */
  readonly end?: End;
}

interface Failure {
  readonly type: string;
  readonly message: string;
  /** Of a CheckpointError. */
  readonly file?: string;
  readonly cause?: Failure;
}

interface End {
  readonly status: string | undefined;
  readonly resumedAt: number;
  /** Milliseconds. */
  readonly longestStep: number;
  readonly lastSave: number;
  readonly exitCode: unknown;
  /** Of the parameters, with their names. */
  readonly digest: string;
  readonly warnings: readonly string[];
  /** Files of the process that are open, more than before the run. */
  readonly moreOpenFiles: number;
  /** The run's newest checkpoint, read through. */
  readonly newest: { readonly step: number | undefined; readonly valid: boolean };
  readonly checkpoints: readonly string[];
}

const options = JSON.parse(process.argv[2]!) as TrainingOptions;
const { features = 256 } = options;

function tell(note: TrainingNote["note"], fields: Partial<TrainingNote> = {}): void {
  process.stdout.write(`${JSON.stringify({ note, at: Date.now(), ...fields } satisfies TrainingNote)}\n`);
}

const rows = (count: number, rng: Rng) => ({
  data: Float32Array.from({ length: count * features }, () => rng.normal()),
  shape: [count, features],
});
/** What goes in is to come out: something that can be learnt, so that there is a new best now and then. */
function data(count: number, seed: number) {
  const x = rows(count, new Rng(seed));
  return { x, y: x };
}
const train = data(16 * 32, 1);
const val = data(16 * 32, 2);

/** Says where the run is, and measures steps and saves. */
class Watch {
  readonly name = "watch";
  during: TrainingNote["during"] = "start";
  saves = 0;
  step = 0;
  resumedAt = 0;
  longestStep = 0;
  lastSave = 0;
  #began = 0;
  #saveBegan = 0;
  #stepsHere = 0;
  readonly #waits: boolean;
  hasHeard = false;

  constructor(waits: boolean) {
    this.#waits = waits;
  }

  async onTrainBegin({ step }: { step: number }): Promise<void> {
    this.step = this.resumedAt = step;
    tell("starting", { step });
    while (this.#waits && !this.hasHeard) await sleep(5);
  }

  onStepBegin(): void {
    this.during = "step";
    this.#began = performance.now();
  }

  onStepEnd({ step }: { step: number }): void {
    this.step = step;
    this.longestStep = Math.max(this.longestStep, performance.now() - this.#began);
    if (++this.#stepsHere === 3) {
      // The first one is compiled, and no measure for the others.
      this.longestStep = 0;
      tell("running", { step });
    }
    if (options.tellSteps) tell("step", { step });
  }

  onEvalBegin({ step }: { step: number }): void {
    this.during = "eval";
    tell("evaluating", { step });
  }

  onEvalEnd(): void {
    this.during = "step";
  }

  onBeforeSave({ saving: { step, reason } }: { saving: { step: number; reason: string } }): void {
    this.saves++;
    this.#saveBegan = performance.now();
    tell("saving", { step, reason });
  }

  onAfterSave({ saved: { step, reason } }: { saved: { step: number; reason: string } }): void {
    this.#saveEnded();
    tell("saved", { step, reason });
  }

  onSaveError(): void {
    this.#saveEnded();
  }

  /** Hooks hear of it at the next boundary; at the end of a run, at once. */
  #saveEnded(): void {
    this.saves--;
    this.lastSave = performance.now() - this.#saveBegan;
  }
}

let watch = new Watch(false);
for (const name of ["SIGINT", "SIGTERM"])
  process.on(name, () => {
    const { during, saves, step } = watch;
    watch.hasHeard = true;
    tell("signal", { step, ...(during && { during: saves > 0 && during !== "eval" ? "save" : during }) });
  });

// The output opens a file of its own when it is first used.
void process.stdout;
const openFiles = (): number => filesIn("/proc/self/fd").length;

function digestOf(tensors: Awaited<ReturnType<Trainer["stateDict"]>>): string {
  const hash = createHash("sha256");
  for (const [name, { data: values }] of Object.entries(tensors)) {
    hash.update(name);
    hash.update(values as Uint8Array);
  }
  return hash.digest("hex");
}

function failureOf(error: Error & { readonly file?: string }): Failure {
  const { name: type, message, file, cause } = error;
  return {
    type,
    message,
    ...(file !== undefined && { file }),
    ...(cause instanceof Error && { cause: failureOf(cause) }),
  };
}

const fail = (): never => {
  throw new Error("nothing catches this");
};

/** Fails outside of any hook's call. */
const failing = (way: NonNullable<TrainingRun["uncaught"]>): Hook => {
  let steps = 0;
  return {
    name: "failing",
    onStepEnd() {
      if (++steps !== 10) return;
      if (way === "timer") setTimeout(fail, 1);
      else if (way === "timers") setInterval(fail, 1);
      else void Promise.resolve().then(fail);
    },
  };
};

async function run({ runDir, resume, waits = false, fault, uncaught, ownHandler }: TrainingRun): Promise<void> {
  if (ownHandler) process.on("uncaughtException", ({ message }) => process.stderr.write(`own handler: ${message}\n`));
  const warnings: string[] = [];
  watch = new Watch(waits);
  process.exitCode = undefined;
  const openBefore = openFiles();
  const trainer = new Trainer({
    model: sequential(linear(features, 2 * features), tanh(), dropout(0.1), linear(2 * features, features)),
    loss: mse(),
    optimizer: adamw({ lr: 1e-3 }),
    schedule: cosine({ warmup: 5 }),
    train: new DataLoader(train, { batchSize: 32, shuffle: true }),
    eval: new DataLoader(val, { batchSize: 16 }),
    evalEvery: "25 steps",
    steps: options.steps,
    seed: 7,
    engine: "wasm",
    runDir,
    hooks: [
      ema({ decay: 0.9 }),
      modelCheckpoint({ every: "6 steps", saveLast: 2, milestones: "60 steps" }),
      modelCheckpoint({ name: "best", monitor: "val/loss", saveLast: false, atEnd: false }),
      watch,
      ...(options.logs ? [logger(["jsonl", "csv", "tensorboard"])] : []),
      ...(uncaught ? [failing(uncaught)] : []),
      ...(fault ? [failingDisk(fault)] : []),
    ],
    warn: (message) => void warnings.push(message),
  });
  let status: string | undefined;
  let error: Failure | undefined;
  try {
    ({ status } = await trainer.fit(resume ? { resume: "auto" } : {}));
  } catch (thrown) {
    error = failureOf(thrown as Error);
  }
  const { step, resumedAt, longestStep, lastSave } = watch;
  const { exitCode } = process;
  const seen = { status, resumedAt, longestStep, lastSave, exitCode, warnings };
  const checkpoints = filesIn(`${runDir}/checkpoints`);
  // After a signal the time counts: then nobody looks at these.
  const digest = status === "interrupted" ? "" : digestOf(await trainer.stateDict());
  const isEmpty = checkpoints.every((name) => name.startsWith("."));
  const inspected = status === "interrupted" || isEmpty ? undefined : await inspectCheckpoint(runDir);
  await trainer.close();
  const newest = { step: inspected?.step, valid: inspected?.valid === true && inspected.skipped.length === 0 };
  const end = { ...seen, digest, moreOpenFiles: openFiles() - openBefore, newest, checkpoints };
  tell(error ? "failed" : "result", { step, ...(error && { error }), end });
}

function filesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

for (const each of options.runs) await run(each);
