// A run with everything that a resume must bring back, and the means to compare two of them bit for bit.
import { earlyStopping, ema, lossSpike, type BuiltinEvent, type Hook, type Trainer } from "hookline";
import { memoryStore, type CheckpointStore, type LoadedCheckpoint } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, dropout, linear, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import {
  recordTrace,
  tinyData,
  tinyTrainer,
  type TinyOptions,
  type TraceEntry,
  type TraceHook,
} from "hookline/testing";
import { BUILTIN_EVENTS, levelOf } from "../../src/core/events.ts";
import { isSoak } from "../support/repetitions.ts";

/** Two epochs and a part in one program, five in parts; `npm run soak` takes twice as many. */
export const STEPS = isSoak ? 64 : 32;

/** How a step is computed: in one program, or cut into its parts by listeners and micro-batches. */
export type Way = "fused" | "split";

const loader = (samples: number, seed: number, batchSize: number): DataLoader =>
  new DataLoader(tinyData(samples, seed), { batchSize, shuffle: true });

/** Saves after every step, and after every epoch; notes how long the trace is by then. */
const saving = (trace: TraceHook, lengths: Map<string, number>): Hook => ({
  name: "saving",
  after: "trace",
  onStepEnd: (ctx) => ctx.requestSave("interval"),
  onEpochEnd: (ctx) => ctx.requestSave("interval", { name: `epoch-${ctx.epoch}` }),
  onAfterSave: (ctx) => void lengths.set(ctx.saved.name, trace.entries.length),
});

/** Counts what it sees, as a user's hook would: the simplest state that a repeated or missing event spoils. */
function counting(): Hook {
  let seen: Record<string, number> = {};
  const count = (event: string) => () => void (seen[event] = (seen[event] ?? 0) + 1);
  return {
    name: "counting",
    onEpochBegin: count("epochBegin"),
    onStepEnd: count("stepEnd"),
    onEvalEnd: count("evalEnd"),
    onEpochEnd: count("epochEnd"),
    onLog: count("log"),
    state: () => ({ json: seen }),
    load: ({ json }) => void (seen = { ...(json as Record<string, number>) }),
  };
}

/** Events of a run's beginning, which a resumed run has for itself. */
const OWN = new Set<string>(["init", "beforeLoad", "afterLoad", "trainBegin"]);

/** Events that leave the step in one program. */
const isOutside = (event: BuiltinEvent): boolean => !["forward / backward", "optimizer"].includes(levelOf(event));

export interface Scenario {
  readonly trainer: Trainer;
  /** What happened after this checkpoint was saved; a resumed run: from its first epoch or step on. */
  traceAfter(checkpoint?: string): TraceEntry[];
}

/** Accumulation, two loaders, evaluations, an average, early stopping, a schedule, dropout, batch norm, clipping. */
export function scenario(store: CheckpointStore, way: Way, options: TinyOptions = {}): Scenario {
  const lengths = new Map<string, number>();
  const trace = recordTrace(way === "fused" ? { events: BUILTIN_EVENTS.filter(isOutside) } : {});
  const trainer = tinyTrainer({
    model: sequential(linear(3, 6), batchNorm(6), relu(), dropout(0.3), linear(6, 1)),
    optimizer: adamw({ lr: 0.02, weightDecay: 0.1 }),
    schedule: cosine({ warmup: 5 }),
    train: { a: loader(28, 3, 4), b: loader(10, 4, 2) },
    eval: loader(10, 5, 4),
    evalEvery: "5 steps",
    logEvery: 3,
    accumulate: way === "fused" ? 1 : 2,
    clipNorm: 0.5,
    steps: STEPS,
    seed: 7,
    store,
    save: "sync",
    hooks: [
      ema({ decay: 0.9, warmup: true }),
      lossSpike({ window: 8, minHistory: 4, action: "lowerLr", factor: 1.5, cooldown: 3 }),
      earlyStopping({ monitor: "val/loss", patience: 1000, restoreBest: true }),
      counting(),
      trace,
      saving(trace, lengths),
    ],
    ...options,
  });
  const traceAfter = (checkpoint?: string): TraceEntry[] =>
    trace.entries.slice(checkpoint === undefined ? 0 : lengths.get(checkpoint)).filter(({ event }) => !OWN.has(event));
  return { trainer, traceAfter };
}

/** A store with just one of another's checkpoints. */
export async function storeWith(from: CheckpointStore, name: string): Promise<CheckpointStore> {
  const { checkpoint, files } = await from.load({ name });
  const store = memoryStore();
  await store.save(name, files, checkpoint);
  return store;
}

/** Everything that a run is, as its last checkpoint keeps it; without what the wall clock says. */
export function contents({ files }: LoadedCheckpoint): Record<string, unknown> {
  const { "state.json": state, ...tensors } = files;
  const json = JSON.parse(new TextDecoder().decode(state), (key, value: unknown) =>
    key === "elapsed" ? 0 : value,
  ) as object;
  return { ...tensors, json };
}
