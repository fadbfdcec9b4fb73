// One run over a scenario in a process of its own; it says on its output how it ended.
import { readdirSync, readlinkSync } from "node:fs";
import { CheckpointError } from "../../src/core/errors.ts";
import { lockDirectory, type Lock } from "../../src/runs/lock.ts";
import { nodeFs } from "../../src/platform/durable-files.ts";
import { newDisk, saveAndPrune, SCENARIOS } from "./scenario.ts";

export interface Outcome {
  readonly error?: { readonly isCheckpointError: boolean; readonly message: string };
  readonly leakedFiles: number;
}

const [root, scenario] = process.argv.slice(2) as [string, string];

/** Files of the directory that are open. */
const openFiles = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
    } catch {
      return false; // the one with which the list was read
    }
  }).length;

let lock: Lock | undefined;
let outcome: Pick<Outcome, "error"> = {};
try {
  lock = lockDirectory(root, nodeFs(), "t");
  const disk = newDisk(root);
  disk.sweep();
  saveAndPrune(disk, SCENARIOS[scenario]!);
} catch (error) {
  outcome = { error: { isCheckpointError: error instanceof CheckpointError, message: String(error) } };
}
lock?.release();
process.stdout.write(JSON.stringify({ ...outcome, leakedFiles: openFiles() } satisfies Outcome));
