// The types that samplers, schedulers and reports share: parameters, trials, objectives and decisions.
import type { Json } from "../core/options.ts";
import type { TrialInfo } from "../core/outer-events.ts";
import type { Space } from "./space/space.ts";

/** Parameters of one trial, as plain data: nested as the space is. */
export type Params = { readonly [key: string]: Json };

/** A value for each objective's metric, and whatever else a trial reports. */
export type Result = Readonly<Record<string, number>>;

/** What a trial reported, and when: `step` is its own measure of progress, which grows from report to report. */
export interface Report {
  readonly step: number;
  readonly values: Result;
}

/** A paused trial is resumed by its scheduler; an interrupted one, when its study is resumed. */
export type TrialStatus = "waiting" | "running" | "interrupted" | "paused" | "completed" | "pruned" | "failed";

/** A trial as samplers and schedulers see it. */
export interface TrialRecord {
  /** From 0, in the order in which they were suggested. */
  readonly number: number;
  /** The current ones: after an exploit, the new ones. */
  readonly params: Params;
  readonly status: TrialStatus;
  readonly reports: readonly Report[];
  /** The last report, or what the trial returned; undefined when it failed before it reported. */
  readonly result: Result | undefined;
}

/** A metric, and whether less or more of it is better. */
export interface Objective {
  readonly metric: string;
  readonly mode: "min" | "max";
}

/** A study as samplers and schedulers see it. */
export interface StudyView {
  readonly space: Space;
  /** One or more. Schedulers use the first. */
  readonly objectives: readonly Objective[];
  /** How many trials there will be in all, where that is known. */
  readonly totalTrials?: number;
}

/** A study to report on: a `Study`, or what `readStudy` finds in a directory. */
export interface ReportedStudy extends Pick<StudyView, "space" | "objectives"> {
  readonly name: string;
  readonly trials: readonly TrialInfo[];
  /** Seconds that it has run. */
  readonly elapsed?: number;
  /** How it ended, and why: as `run()` returned it. */
  readonly status?: string;
  readonly reason?: string;
}

/**
 * Suggests parameters. A suggestion is a function of the seed, the trial's number and the trials so far, so that a study
 * that is resumed after a crash makes the same suggestions.
 */
export interface Sampler {
  readonly name: string;
  /** How many points there are in all, if it runs out (a grid). */
  readonly size?: number;
  suggest(number: number, trials: readonly TrialRecord[], study: StudyView): Params;
}

/** What happens to a trial after a report. */
export type Decision =
  | { readonly kind: "continue" }
  /** Ends it: its result counts, but it is not worth continuing. */
  | { readonly kind: "prune"; readonly reason: string }
  /** Stops it until `resume` names it. */
  | { readonly kind: "pause"; readonly reason: string }
  /** Continues it from another trial's checkpoint with these parameters (population-based training). */
  | { readonly kind: "exploit"; readonly from: number; readonly params: Params; readonly reason: string };

/** Decides on the reports of all trials. It keeps no state beyond the trials, so that a resumed study decides the same. */
export interface Scheduler {
  readonly name: string;
  /** The steps of a whole trial, if it depends on them: a study whose trials report more warns. */
  readonly maxSteps?: number;
  /** `report` is the last of `trial.reports`, and `trial` is one of `trials`. */
  decide(trial: TrialRecord, report: Report, trials: readonly TrialRecord[], study: StudyView): Decision;
  /** Paused trials to resume now (Hyperband's next rung). Called after every report and every trial's end. */
  resume?(trials: readonly TrialRecord[], study: StudyView): readonly number[];
  /** Paused trials that will never be resumed: the study ends them as pruned. */
  drop?(trials: readonly TrialRecord[], study: StudyView): readonly number[];
}
