// What saving costs training: the same model without saving, with saves that training waits for, and with saves beside
// it. Then what a checkpoint hook costs while nothing is saved, and the speed of the files themselves.
import { checkpointFiles } from "./lib/checkpoint-files.ts";
import { idleCheckpoint } from "./lib/idle-checkpoint.ts";
import type { Report } from "./lib/report.ts";
import { savingCost } from "./lib/saving-cost.ts";

export async function run(): Promise<Report[]> {
  // Without large models first: what they leave behind in memory would slow it down.
  const idle = await idleCheckpoint();
  return [await savingCost(), idle, await checkpointFiles()];
}
