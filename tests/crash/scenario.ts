// Four ways in which a save changes a checkpoint directory, what must be there afterwards, and the check for torn or lost ones.
import { readdirSync } from "node:fs";
import { CheckpointError } from "../../src/core/errors.ts";
import { nodeFs } from "../../src/platform/durable-files.ts";
import { lockDirectory } from "../../src/runs/lock.ts";
import { retain, type RetentionRules } from "../../src/checkpoint/retention.ts";
import type { CheckpointInfo } from "../../src/checkpoint/store.ts";
import { Disk } from "../../src/checkpoint/stores/disk.ts";

interface Save {
  readonly name: string;
  readonly step: number;
  readonly loss: number;
}

export interface Scenario {
  readonly before: readonly Save[];
  readonly save: Save;
  readonly rules: RetentionRules;
  /** The names that are there when all went well. */
  readonly after: readonly string[];
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "first save": { before: [], save: { name: "step-1", step: 1, loss: 1 }, rules: {}, after: ["step-1"] },
  overwrite: {
    before: [{ name: "best", step: 1, loss: 1 }],
    save: { name: "best", step: 2, loss: 0.5 },
    rules: {},
    after: ["best"],
  },
  "keep last k": {
    before: [
      { name: "step-1", step: 1, loss: 3 },
      { name: "step-2", step: 2, loss: 2 },
    ],
    save: { name: "step-3", step: 3, loss: 1 },
    rules: { saveTotalLimit: 2 },
    after: ["step-2", "step-3"],
  },
  "best and last": {
    before: [
      { name: "step-1", step: 1, loss: 0.1 },
      { name: "step-2", step: 2, loss: 0.5 },
    ],
    save: { name: "step-3", step: 3, loss: 0.4 },
    rules: { monitor: "val/loss", mode: "min", saveTopK: 1, saveLast: true },
    after: ["step-1", "step-3"],
  },
};

/** Other bytes for each step and file, so that a mixture of two saves shows. */
export function filesOf(step: number, bytes = 400): Record<string, Uint8Array> {
  const fill = (file: number): Uint8Array =>
    Uint8Array.from({ length: bytes }, (_, i) => (i * 31 + step * 7 + file) % 251);
  return { "model.safetensors": fill(1), "optimizer.safetensors": fill(2), "state.json": fill(3) };
}

export const infoOf = ({ step, loss }: Save): CheckpointInfo => ({
  step,
  epoch: 0,
  reason: "interval",
  metrics: { "val/loss": loss },
  time: 1000 + step,
  runId: "crash",
});

export const newDisk = (root: string, fs = nodeFs()): Disk => new Disk(fs, { root, digests: true, tempNames: "t" });

export function prepare(root: string, { before }: Scenario): void {
  for (const save of before) newDisk(root).save(save.name, filesOf(save.step), infoOf(save));
}

/** What a run does: the part that is killed, or that meets a failing disk. */
export function saveAndPrune(disk: Disk, { save, rules }: Scenario): void {
  disk.save(save.name, filesOf(save.step), infoOf(save));
  disk.remove(retain(disk.list(), rules).remove);
}

/** Throws when a checkpoint is torn or lost; returns which state a reader finds. */
export function findState(root: string, { before, save, after }: Scenario): "old" | "new" {
  const disk = newDisk(root);
  const list = disk.list();
  for (const { name, step } of list) expectWhole(disk, name, step);
  const isNew = list.some(({ step }) => step === save.step);
  const names = list.map(({ name }) => name);
  const lost = (isNew ? after : before.map(({ name }) => name)).filter((name) => !names.includes(name));
  if (lost.length > 0) throw new Error(`lost ${lost.join(", ")}; there is ${readdirSync(root).join(", ")}`);
  expectNewest(disk, list.length > 0 ? Math.max(...list.map(({ step }) => step)) : undefined);
  return isNew ? "new" : "old";
}

/** A load finds the newest, or nothing at all where there is none, and meets nothing torn on the way. */
function expectNewest(disk: Disk, newest: number | undefined): void {
  try {
    const { checkpoint, skipped } = disk.load();
    if (skipped.length > 0) throw new Error(`torn: ${JSON.stringify(skipped)}`);
    if (checkpoint.step !== newest) throw new Error(`loaded step ${checkpoint.step} instead of ${newest}`);
  } catch (error) {
    const isEmpty = error instanceof CheckpointError && error.reason === "there is no checkpoint here";
    if (newest !== undefined || !isEmpty) throw error;
  }
}

function expectWhole(disk: Disk, name: string, step: number): void {
  const { files } = disk.load({ name });
  for (const [file, bytes] of Object.entries(filesOf(step))) {
    if (Buffer.compare(files[file]!, bytes) !== 0)
      throw new Error(`torn: ${file} of ${name} is not that of step ${step}`);
  }
}

/** What the next run does: it takes the lock, sweeps, finds the same state, and can save. */
export function recover(root: string, scenario: Scenario): "old" | "new" {
  const state = findState(root, scenario);
  const lock = lockDirectory(root);
  const disk = newDisk(root);
  disk.sweep();
  const swept = findState(root, scenario);
  if (swept !== state) throw new Error(`the sweep made ${swept} of ${state}`);
  // The lock's holder listens on a socket beside it.
  const left = hiddenIn(root).filter((name) => name !== ".lock" && !name.startsWith(".alive-"));
  if (left.length > 0) throw new Error(`not swept: ${left.join(", ")}`);
  saveAndPrune(disk, scenario);
  lock.release();
  const names = readdirSync(root).sort();
  if (String(names) !== String([...scenario.after].sort())) throw new Error(`after the next save: ${names.join(", ")}`);
  return state;
}

export const hiddenIn = (root: string): string[] => readdirSync(root).filter((name) => name.startsWith("."));
