// A tiny trainer whose run fires every event of the loop, except `exception`.
import { memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import type { Hook, Trainer } from "hookline";

/** The hook that asks for checkpoints; what it does is in the audit too. */
export const SAVING = "saving";

/** Saves after each step, goes back once and pauses once, so that every checkpoint event and pause has its turn. */
const saving: Hook = {
  name: SAVING,
  onStepEnd(ctx) {
    ctx.requestSave();
    if (ctx.step === 1) {
      ctx.wake();
      ctx.pause();
    }
    if (ctx.step === 3 && ctx.checkpoints.list().length > 0) ctx.rollback();
  },
  onPause: (ctx) => ctx.wake(),
  onCommand(ctx) {
    if (ctx.settled) ctx.continue();
  },
};

/** A store that cannot write the second checkpoint. */
function failingStore(): CheckpointStore {
  const store = memoryStore();
  const save: CheckpointStore["save"] = (name, files, info) =>
    info.step === 2 ? Promise.reject(new Error("the disk is full")) : store.save(name, files, info);
  return { ...store, save };
}

/** Two epochs of two steps of two micro-batches; clips, evaluates, logs, saves, pauses and rolls back. */
export function fullTrainer(options: TinyOptions = {}): Trainer {
  const { hooks = [], warn } = options;
  return tinyTrainer({
    epochs: 2,
    accumulate: 2,
    clipNorm: 1,
    logEvery: 1,
    eval: new DataLoader(tinyData(4), { batchSize: 4 }),
    store: failingStore(),
    save: "sync",
    ...options,
    hooks: [...hooks, saving],
    // The failure is on purpose.
    warn: (message) => (message.includes("the disk is full") ? undefined : (warn ?? console.warn)(message)),
  });
}
