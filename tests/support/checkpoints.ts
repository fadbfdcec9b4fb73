// What the tests of modelCheckpoint share: runs whose metric is written down, stores that fail, and what was saved.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hook, Trainer } from "hookline";
import { memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { onTestFinished } from "vitest";
import { modelCheckpoint, type ModelCheckpointOptions } from "../../src/hooks/model-checkpoint/model-checkpoint.ts";

/** One batch. */
export const loader = (): DataLoader => new DataLoader(tinyData(4, 2), { batchSize: 4 });

/** Shows one value after the other as `val/x`, one for each step that is evaluated. */
export const script = (values: readonly number[], metric = "val/x"): Hook => ({
  name: `script ${metric}`,
  logs: [metric],
  onEvalEnd: (ctx) => ctx.log({ [metric]: values[ctx.step - 1] ?? values.at(-1)! }),
});

/** An epoch is one step and one evaluation; `values` are what `val/x` shows. */
export function scripted(
  store: CheckpointStore,
  values: readonly number[],
  hooks: readonly Hook[],
  more: TinyOptions = {},
): Trainer {
  return tinyTrainer({
    samples: 4,
    eval: loader(),
    epochs: values.length,
    store,
    save: "sync",
    hooks: [script(values), ...hooks],
    ...more,
  });
}

/** Keeps just the best. */
export const best = (options: ModelCheckpointOptions = {}): Hook =>
  modelCheckpoint({ monitor: "val/x", saveLast: false, atEnd: false, ...options });

export const stepsIn = async (store: CheckpointStore): Promise<number[]> =>
  (await store.list()).map(({ step }) => step);
export const namesIn = async (store: CheckpointStore): Promise<string[]> =>
  (await store.list()).map(({ name }) => name);

/** The steps that a run saved, with the reasons, kept or not. */
export async function savesOf(options: ModelCheckpointOptions, more: TinyOptions = {}): Promise<string[]> {
  const saved: string[] = [];
  const watch: Hook = {
    name: "watch",
    onAfterSave: ({ saved: { step, reason } }) => void saved.push(`${step} ${reason}`),
  };
  const hooks = [modelCheckpoint(options), watch];
  await using trainer = tinyTrainer({ store: memoryStore(), save: "sync", hooks, ...more });
  await trainer.fit();
  return saved;
}

/** The steps whose checkpoints are left after such a run with `best(options)`. */
export async function keptOf(
  values: readonly number[],
  options: ModelCheckpointOptions,
  more: TinyOptions = {},
): Promise<number[]> {
  const store = memoryStore();
  await using trainer = scripted(store, values, [best(options)], more);
  await trainer.fit();
  return stepsIn(store);
}

/** A store whose saves fail as long as `fails` says so. */
export function flaky(fails: (attempt: number) => boolean): { store: CheckpointStore; attempts: string[] } {
  const store = memoryStore();
  const attempts: string[] = [];
  const save: CheckpointStore["save"] = (name, ...rest) => {
    attempts.push(name);
    return fails(attempts.length) ? Promise.reject(new Error("the disk is full")) : store.save(name, ...rest);
  };
  return { store: { ...store, save }, attempts };
}

/** A folder that goes with the test. */
export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Throws at a step. */
export const failing = (step: number): Hook => ({
  name: "failing",
  onStepBegin(ctx) {
    if (ctx.step === step) throw new Error("as planned");
  },
});

/** For failures on purpose. */
export const silent = { warn: () => undefined };
