// A study as its directory tells it, for who looks on: nothing is locked and nothing is written.
import { isLocked } from "../runs/lock.ts";
import { readJournal } from "./journal.ts";
import type { ReportedStudy } from "./report/index.ts";
import { spaceFromJournal } from "./space/from-journal.ts";
import { trialDirectory } from "./store.ts";
import { infoOf, StudyState } from "./study-state.ts";

export interface ReadStudy extends Required<ReportedStudy> {
  readonly dir: string;
}

/** Undefined when its controller has written nothing yet. */
export function readStudy(dir: string): ReadStudy | undefined {
  const lines = readJournal(dir);
  const state = new StudyState((number) => trialDirectory(dir, number));
  for (const line of lines) state.apply(line);
  const { study, ended, trials } = state;
  if (!study) return undefined;
  const isRunning = isLocked(dir);
  // One that was killed could not write it down.
  if (!isRunning) state.interrupt();
  return {
    dir,
    name: study.name,
    space: spaceFromJournal(study.space),
    objectives: study.objectives,
    trials: trials.map(infoOf),
    elapsed: lines.at(-1)!.at,
    status: isRunning ? "running" : (ended?.status ?? "killed"),
    reason: isRunning ? "" : (ended?.reason ?? ""),
  };
}
