// The directory of a sweep's study: what it was begun with is what it goes on with, or it is moved aside.
import { existsSync, renameSync } from "node:fs";
import { resolve } from "node:path";
import { checkUnlocked } from "../../runs/lock.ts";
import { difference, newRecord, readRecord, writeRecord } from "../../tune/sweep/sweep-record.ts";
import type { SweepDocument } from "../../tune/sweep/read-sweep.ts";
import type { Objective } from "../../tune/types.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { readStudy } from "../../tune/study-store.ts";
import { UsageError } from "./exit.ts";
import { typed } from "./hints.ts";
import { say } from "./output.ts";

/** Whether a study has found nothing: then there is nothing to continue. */
export const allFailed = (trials: readonly Pick<TrialInfo, "status">[]): boolean =>
  trials.length > 0 && trials.every(({ status }) => status === "failed");

/** Moves a study aside as a whole. */
export function makeStudyRoom(dir: string): void {
  if (!existsSync(dir)) return;
  checkUnlocked(dir);
  let n = 1;
  while (existsSync(`${resolve(dir)}.${n}`)) n++;
  renameSync(resolve(dir), `${resolve(dir)}.${n}`);
  say(`the study in ${dir} is in ${dir}.${n} now`);
}

/** Writes down which experiment is swept; one that goes on must be the same, or its trials could not be compared. */
export async function recordSweep(
  dir: string,
  sweep: SweepDocument,
  overrides: readonly string[],
  objectives: readonly Objective[],
): Promise<void> {
  if (!sweep.experiment) return;
  const names = objectives.map(({ metric }) => metric);
  const record = await newRecord(dir, sweep, overrides, names);
  const before = readRecord(dir);
  if (!before) return writeRecord(dir, record);
  const other = difference(before.experiment.raw, record.experiment.raw);
  if (other === undefined) return undefined;
  const where = `The study in ${dir} is over another experiment: \`${other.path}\` is ${other.before} there and ${other.now} here.`;
  const anew = `\`${typed(`tune ${sweep.doc.file} --fresh`)}\` moves it aside and starts anew`;
  throw new UsageError(
    allFailed(readStudy(dir)?.trials ?? [])
      ? `${where} All of its trials failed, so there is nothing to continue: ${anew}.`
      : `${where} Continue with the same one, give this sweep another \`name\` or \`dir\`, or begin anew: ${anew}.`,
  );
}
