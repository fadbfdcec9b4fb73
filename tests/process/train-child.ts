// A training run in a process of its own, for signals.test.ts: wholly synchronous, without an end, told by JSON what to do.
// Each line it prints is a note with the time; the reader sends signals when it likes.
import { memoryStore } from "../../src/checkpoint/index.ts";
import { Trainer, type Hook } from "../../src/index.ts";
import { DataLoader, Rng } from "../../src/data/index.ts";
import { linear, mse, sequential, tanh } from "../../src/nn/index.ts";
import { sgd } from "../../src/optim/index.ts";

export interface ChildOptions {
  /** How many times to train, one after the other. Default 1. */
  readonly rounds?: number;
  /** Evaluate before the first step, without an end. */
  readonly evaluate?: boolean;
  /** Milliseconds that a hook takes in `trainEnd`. */
  readonly slowEnd?: number;
  /** A handler for SIGINT of the program's own. */
  readonly ownHandler?: boolean;
  readonly signals?: boolean;
  readonly signalGrace?: number;
  /** What never ends: a hook's `trainEnd` that waits for a timer, one that waits for nothing, or the last save. */
  readonly hangs?: "hook" | "idle hook" | "save";
  /** Milliseconds that the program stays after the run. Default 700. */
  readonly stays?: number;
  /** A hook skips every epoch, so that no step ever comes. */
  readonly skipEpochs?: boolean;
}

export interface Note {
  readonly note: "begun" | "trainEnd" | "handler" | "result" | "after";
  readonly at: number;
  readonly status?: string;
  readonly reason?: string;
  readonly requestedBy?: string;
  readonly step?: number;
  /** Milliseconds of the longest step of the run. */
  readonly longest?: number;
  readonly partialEval?: boolean;
  readonly metrics?: readonly string[];
  /** Handlers of signals, more than before the run. */
  readonly listeners?: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ChildOptions;

function tell(note: Note["note"], fields: Partial<Note> = {}): void {
  process.stdout.write(`${JSON.stringify({ note, at: Date.now(), ...fields } satisfies Note)}\n`);
}

const listeners = (): number => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");

/** Steps of this size take 5 to 10 ms. */
const FEATURES = 256;
const rng = new Rng(1);
const rows = (count: number) => ({
  data: Float32Array.from({ length: count * FEATURES }, () => rng.normal()),
  shape: [count, FEATURES],
});

let begun = false;
let longest = 0;
let started = 0;
let partialEval = false;
const watch: Hook = {
  name: "watch",
  onEpochBegin(ctx) {
    if (!options.skipEpochs) return;
    if (!begun && ctx.epoch > 3) begin();
    ctx.skip("epoch");
  },
  onStepBegin: () => void (started = performance.now()),
  onStepEnd(ctx) {
    longest = Math.max(longest, performance.now() - started);
    if (!begun && ctx.step > 3) begin();
  },
  onEvalBatchEnd(ctx) {
    if (!begun && ctx.batchIdx > 3) begin();
  },
  onEvalEnd: (ctx) => void (partialEval = ctx.partial),
  onTrainEnd({ status, reason, requestedBy, step }) {
    tell("trainEnd", { status, reason, requestedBy, step, longest });
  },
};

function begin(): void {
  begun = true;
  longest = 0;
  tell("begun");
}

const slow: Hook = {
  name: "slow",
  after: "watch",
  onTrainEnd: () => new Promise((resolve) => setTimeout(resolve, options.slowEnd)),
};

const never = (): Promise<never> => new Promise(() => undefined);
const hanging: Readonly<Record<NonNullable<ChildOptions["hangs"]>, Hook>> = {
  hook: { name: "hanging", after: "watch", onTrainEnd: () => new Promise((resolve) => setTimeout(resolve, 60_000)) },
  "idle hook": { name: "hanging", after: "watch", onTrainEnd: never },
  save: { name: "hanging", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) },
};

const handled: number[] = [];
if (options.ownHandler)
  process.on("SIGINT", () => {
    handled.push(Date.now());
    tell("handler");
  });
const data = { x: rows(128), y: rows(128) };
function* endless() {
  for (;;) yield data;
}

const trainer = new Trainer({
  model: sequential(linear(FEATURES, 512), tanh(), linear(512, FEATURES)),
  loss: mse(),
  optimizer: sgd({ lr: 1e-3 }),
  train: new DataLoader(data, { batchSize: 64 }),
  ...(options.evaluate && {
    eval: new DataLoader(endless),
    evalAtStart: true,
  }),
  epochs: 1_000_000,
  engine: "wasm",
  signals: options.signals ?? true,
  ...(options.signalGrace !== undefined && { signalGrace: options.signalGrace }),
  ...(options.hangs === "save" && {
    store: { ...memoryStore(), save: () => new Promise((_, reject) => setTimeout(reject, 60_000)) },
  }),
  hooks: [watch, ...(options.slowEnd ? [slow] : []), ...(options.hangs ? [hanging[options.hangs]] : [])],
});

const before = listeners();
for (let round = 0; round < (options.rounds ?? 1); round++) {
  begun = false;
  const { status, reason, requestedBy, steps, metrics } = await trainer.fit();
  tell("result", { status, reason, requestedBy, step: steps, partialEval, metrics: Object.keys(metrics) });
}
// Signals shortly after the first count as its echo, and are waited for even when the run is over.
await new Promise((resolve) => setTimeout(resolve, options.stays ?? 700));
tell("after", { listeners: listeners() - before });
// The handler stays: a second signal reaches it after the run.
while (options.ownHandler && handled.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
