// The seam between a study and where its trials run: this process, processes of this machine, or other machines.
import type { Hook } from "../../core/hook.ts";
import type { Json } from "../../core/json.ts";
import type { LeaveKind } from "../study-error.ts";
import type { TrialFunction } from "../trial.ts";
import type { Params, Result } from "../types.ts";

type Stash = Readonly<Record<string, Json>>;

/** One attempt at a trial: plain data, for another process. */
export interface TrialJob {
  readonly number: number;
  readonly params: Params;
  readonly seed: number;
  /** From 0. */
  readonly attempt: number;
  readonly runDir: string | undefined;
  /** The checkpoint to go on from. */
  readonly resume: string | undefined;
  readonly stash: Stash;
  /** Metrics of the objectives. */
  readonly objectives: readonly string[];
}

/** Whether the trial goes on after a report. */
export type Verdict =
  | { readonly kind: "continue" }
  | {
      readonly kind: LeaveKind;
      readonly reason: string;
    };

/** The study, as an attempt at a trial can speak to it. */
export interface TrialHost {
  report(step: number, values: Result, stash: Stash): Promise<Verdict>;
  checkpoint(path: string, stash: Stash): Promise<void>;
  /** Aborted when the study ends before the trial does. */
  readonly signal: AbortSignal;
}

/** How an attempt ended that did not fail. */
export interface TrialOutcome {
  readonly result: Result | undefined;
  readonly stash: Stash;
  /** It ended because the study did: it is not complete. */
  readonly interrupted: boolean;
}

export interface RunnerStudy {
  readonly trial: TrialFunction<never> | string;
  readonly concurrency: number;
  /** The study's: they listen in its own process. */
  readonly hooks: readonly Hook[];
  warn(message: string): void;
}

/** Runs trials. What it keeps warm between them is its own affair. */
export interface Runner {
  readonly name: string;
  /** How many trials it runs at once, where it has its own idea of it. */
  readonly size?: number;
  /** Throws when the study's trial is not of the kind that it runs. Called once, before the first trial. */
  open(study: RunnerStudy): void;
  /** One attempt; rejects with what the trial threw, or with what became of its process. */
  run(job: TrialJob, host: TrialHost): Promise<TrialOutcome>;
  /** When the study has ended. */
  close(): Promise<void>;
}
