// Starts training-child.ts, compiled, and looks at what it leaves in its run directory.
import { existsSync, readdirSync } from "node:fs";
import { inspectCheckpoint, openDirectoryStore, type SavedCheckpoint } from "../../src/checkpoint/index.ts";
import { startNoting, type NotingChild } from "../support/noting-child.ts";
import { compile } from "./strace.ts";
import type { TrainingNote, TrainingOptions } from "./training-child.ts";

export type Training = NotingChild<TrainingNote>;

export const compileTraining = (home: string): Promise<void> =>
  compile(
    home,
    "tests/crash/training-child.ts",
    "src/checkpoint/stores/disk-worker.ts",
    "src/loggers/logging-worker.ts",
  );

/** `around` is a command to run it with, such as strace and its options. */
export function startTraining(home: string, options: TrainingOptions, around: readonly string[] = []): Training {
  const [command, ...args] = [...around, process.execPath, `${home}/training-child.js`, JSON.stringify(options)];
  return startNoting(args, command);
}

/** Runs one to its end. */
export async function train(home: string, options: TrainingOptions): Promise<TrainingNote> {
  return startTraining(home, options).until("result");
}

/** What a reader finds, oldest first; throws when there is something that looks like a checkpoint and is none. */
export async function intactCheckpoints(runDir: string): Promise<readonly SavedCheckpoint[]> {
  const dir = `${runDir}/checkpoints`;
  if (!existsSync(dir)) return [];
  const store = await openDirectoryStore(dir, { readOnly: true, thread: false });
  const list = await store.list();
  for (const { name } of list) await store.verify(name);
  await store.close();
  const names = list.map(({ name }) => name);
  const torn = readdirSync(dir).filter((name) => !name.startsWith(".") && !names.includes(name));
  if (torn.length > 0) throw new Error(`torn: ${torn.join(", ")}`);
  if (list.length === 0) return list;
  const { valid, problems, skipped, step } = await inspectCheckpoint(runDir);
  if (!valid || skipped.length > 0) throw new Error(`torn: ${[...problems, JSON.stringify(skipped)].join(", ")}`);
  if (step !== list.at(-1)!.step) throw new Error(`step ${step} passes for the newest`);
  return list;
}
