// Resuming: the run is put where a checkpoint says it stood, between the two events that tell of it.
import type { ResumeReport } from "../../core/saving.ts";
import type { Place } from "./place.ts";
import { restoreRun } from "./restore.ts";
import { findSource } from "./resume-source.ts";
import type { Subject } from "./snapshot.ts";

interface Listeners {
  readonly warn: (message: string) => void;
  /** The run stands where it stood; hooks are not told yet. */
  readonly restored: (report: ResumeReport) => void;
}

/** Goes on from there; when there is nothing to go on from, the run begins at its beginning. */
export async function resumeRun(subject: Subject, place: Place, resume: string, listeners: Listeners): Promise<void> {
  const { run, hooks } = subject;
  const source = await subject.share(() => findSource(place, resume, subject.optimizers()));
  if (!source) return;
  for (const { file, reason } of !run.isMain ? [] : source.skipped)
    listeners.warn(`a newer checkpoint is damaged: ${file}: ${reason}`);
  run.loading = { from: source.from, why: "resume" };
  await hooks.fire.beforeLoad!();
  run.loaded = await restoreRun(subject, source);
  run.resumed = run.loaded;
  listeners.restored(run.loaded);
  await hooks.fire.afterLoad!();
}
