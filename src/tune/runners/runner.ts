// The seam between a study and where its trials run: this process, processes of this machine, or other machines.
import type { Hook } from "../../core/hook.ts";
import type { Json } from "../../core/json.ts";
import type { HookFields, HookSource } from "../module-hooks.ts";
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
  /** Of the study, to be made where the trial runs. */
  readonly hooks?: readonly HookSource[];
  /** What those have set in the study's process. */
  readonly hookFields?: HookFields;
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

/** What a runner knows of its study. */
export interface RunnerStudy {
  readonly name: string;
  /** Where the journal and the trials' directories are. */
  readonly dir: string | undefined;
  readonly trial: TrialFunction<never> | string;
  readonly concurrency: number;
  /** The study's: they listen in its own process. */
  readonly hooks: readonly Hook[];
  /** Those named by their module's export: as they are named, and as they were made in the study's process. */
  readonly hookSources: readonly HookSource[];
  readonly moduleHooks: readonly Hook[];
  warn(message: string): void;
  /** Ends the study with this error: the runner cannot go on. */
  fail(error: Error): void;
}

/** Runs trials. What it keeps warm between them is its own affair. */
export interface Runner {
  readonly name: string;
  /** How many trials it runs at once, where it has its own idea of it. */
  readonly size?: number;
  /** What modules of trials and hooks are relative to. Default: where the process was started. */
  readonly directory?: string;
  /** Throws when the study's trial is not of the kind that it runs. Called once, before the first trial. */
  open(study: RunnerStudy): void | Promise<void>;
  /** One attempt; rejects with what the trial threw, with what became of its process, or with a TrialLost. */
  run(job: TrialJob, host: TrialHost): Promise<TrialOutcome>;
  /** When the study has ended. */
  close(): Promise<void>;
}
