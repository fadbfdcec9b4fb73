// hookline unlock: removes the locks of a run or a study whose process is gone.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LOCK_FILE } from "../runs/layout.ts";
import { breakLock, findLock, sinceOf, type FoundLock } from "../runs/lock.ts";
import { UsageError, noDirectory } from "./errors.ts";
import { say, shownPath, typed } from "./output.ts";
import type { CommandDescription } from "./command.ts";

export const command: CommandDescription = {
  examples: `unlock runs/digits
unlock studies/digits --force`,
  flags: (program) =>
    program
      .argument("<dir>", "the directory of the run or the study")
      .option("--force", "also if the process may be running; it then ends with an error before it writes again"),
};

interface Flags {
  readonly force?: boolean;
}

interface LockIn extends FoundLock {
  readonly dir: string;
}

/** A run's own, those of its models and folds, and of their queues; a study's, and those of its trials. */
const DEEPEST = 5;

export async function run(given: string, { force = false }: Flags): Promise<void> {
  const dir = shownPath(given);
  if (!existsSync(dir)) throw noDirectory(dir, `\`${typed("runs")}\` lists runs.`);
  const locks = locksBelow(dir);
  const held = locks.find(({ liveness }) => liveness !== "dead");
  if (held && !force) throw new UsageError(refusal(held, dir));
  for (const lock of locks) {
    breakLock(lock.dir);
    say(`removed ${lock.file} of ${nameOf(lock)}${lock.liveness === "dead" ? ", which has ended" : ""}`);
  }
  if (locks.length === 0) say(`there is no lock in ${dir}`);
}

function refusal(lock: LockIn, dir: string): string {
  const forced = `\`${typed(`unlock ${dir} --force`)}\``;
  if (lock.liveness === "alive")
    return `${lock.file}: ${nameOf(lock)} is running. Stop it first. ${forced} takes its lock away: it then ends with an error before it writes again.`;
  return `${lock.file}: nothing here can tell whether ${nameOf(lock)} still runs. If you know that it does not: ${forced}. If it does after all, it ends with an error before it writes again.`;
}

function nameOf({ holder }: LockIn): string {
  if (!holder) return "a process that it does not name";
  return `process ${holder.pid} on ${holder.host} (locked${sinceOf(holder)})`;
}

function locksBelow(dir: string, depth = 0): LockIn[] {
  const found = findLock(dir);
  const here = found ? [{ ...found, dir }] : [];
  if (depth >= DEEPEST) return here;
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [
    ...here,
    ...folders.filter(({ name }) => name !== LOCK_FILE).flatMap(({ name }) => locksBelow(join(dir, name), depth + 1)),
  ];
}
