// The directory of a run that is about to begin: an unfinished run there is not passed over in silence.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { checkUnlocked } from "../../runs/lock.ts";
import { sentence } from "../../experiment/config/sentence.ts";
import { readResults, type SavedResults } from "../../runs/results.ts";
import { moveAside } from "../../experiment/run-place.ts";
import { UsageError } from "./exit.ts";
import { typedResume } from "./hints.ts";
import { say } from "./output.ts";

/** A finished run, or one without a step, the experiment itself deals with; an unfinished one is put aside only when that is asked for. */
export async function makeRoom(runDir: string, fresh: boolean): Promise<void> {
  const saved = await checkRoom(runDir, fresh);
  if (saved) moveAside(runDir, saved, say);
}

/** The unfinished run that is in the way, where it may be moved. */
export async function checkRoom(runDir: string, fresh: boolean): Promise<SavedResults | undefined> {
  const saved = await readResults(runDir);
  if (!saved || saved.untrained || saved.status === "completed" || saved.status === "stopped") return undefined;
  if (!fresh) throw new UsageError(unfinished(runDir, saved));
  checkNobodyThere(runDir);
  return saved;
}

/** An error that names the process that is training there. */
export function checkNobodyThere(runDir: string): void {
  for (const dir of checkpointsBelow(runDir)) checkUnlocked(dir);
}

function unfinished(runDir: string, { status, reason, models }: SavedResults): string {
  const how = status === "running" ? "is running, or was killed" : `ended with: ${reason || status}`;
  const hasCheckpoints = checkpointsBelow(runDir).some((dir) => readdirSync(dir).some((name) => !name.startsWith(".")));
  const isLeft = hasCheckpoints || Object.keys(models).length > 0;
  const resume = isLeft
    ? `Continue it with the config it was started with: \`${typedResume(runDir)}\`; \`--set\` changes a value. Or start anew with this config`
    : "It left no checkpoint, so there is nothing to continue. Start anew";
  return `${runDir} has an unfinished run, which ${sentence(how)} ${resume}: \`--fresh\` moves it aside, \`--run-dir\` leaves it where it is.`;
}

/** Those of the run, of its models and of their folds. */
function checkpointsBelow(dir: string, depth = 0): string[] {
  if (depth > 2 || !existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => (name === "checkpoints" ? [join(dir, name)] : checkpointsBelow(join(dir, name), depth + 1)));
}
