// What a study is made of: a space of parameters, a sampler that suggests points of it, a scheduler that ends trials early.
import type { Json } from "../core/options.ts";
import type { Space } from "./space/space.ts";

/** Parameters of one trial, as plain data: nested as the space is. */
export type Params = { readonly [key: string]: Json };

/** A value for each objective's metric, and whatever else a trial reports. */
export type Result = Readonly<Record<string, number>>;

/** What a trial reported, and when: `step` is its own measure of progress, growing from report to report. */
export interface Report {
  readonly step: number;
  readonly values: Result;
}

/** How a trial stands. A paused one goes on later; one that was interrupted, when its study does. */
export type TrialStatus = "waiting" | "running" | "interrupted" | "paused" | "completed" | "pruned" | "failed";

/** A trial as samplers and schedulers see it. */
export interface TrialRecord {
  /** From 0, in the order in which they were suggested. */
  readonly number: number;
  /** Those it runs with now: after an exploit, the new ones. */
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

/** What a study is after, for those who judge its trials. */
export interface StudyView {
  readonly space: Space;
  /** One or more. Schedulers go by the first. */
  readonly objectives: readonly Objective[];
  /** How many trials there will be in all, where that is known. */
  readonly totalTrials?: number;
}

/**
 * Suggests parameters. What it suggests is a function of the seed, the trial's number and the trials so far, so that a
 * study that goes on after a crash suggests what it would have suggested.
 */
export interface Sampler {
  readonly name: string;
  /** How many points there are in all, if it runs out (a grid). */
  readonly size?: number;
  suggest(number: number, trials: readonly TrialRecord[], study: StudyView): Params;
}

/** What becomes of a trial after a report. */
export type Decision =
  | { readonly kind: "continue" }
  /** Ends it: its result counts, but it is not worth going on. */
  | { readonly kind: "prune"; readonly reason: string }
  /** Stops it for now; `resume` says when it may go on. */
  | { readonly kind: "pause"; readonly reason: string }
  /** Goes on from another trial's checkpoint with these parameters (population-based training). */
  | { readonly kind: "exploit"; readonly from: number; readonly params: Params; readonly reason: string };

/** Watches the reports of all trials. A function of the journal so far: it keeps no state that the journal cannot bring back. */
export interface Scheduler {
  readonly name: string;
  /** The steps of a whole trial, where it goes by them: a study whose trials report more warns. */
  readonly maxSteps?: number;
  /** `report` is the last of `trial.reports`, and `trial` is one of `trials`. */
  decide(trial: TrialRecord, report: Report, trials: readonly TrialRecord[], study: StudyView): Decision;
  /** Paused trials that may go on now (Hyperband's next rung). Asked after every report and every trial's end. */
  resume?(trials: readonly TrialRecord[], study: StudyView): readonly number[];
  /** Paused trials that will never go on: the study ends them as pruned, and may let their checkpoints go. */
  drop?(trials: readonly TrialRecord[], study: StudyView): readonly number[];
}
