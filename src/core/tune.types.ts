// What hooks see in the events of a study: its trials, and what becomes of each.
import type { Json } from "./json.ts";
import type { Shared } from "./shared.ts";

/** A trial as it stood when the event came about. */
export interface TrialInfo {
  /** From 0, in the order in which they were suggested. */
  readonly number: number;
  /** Those it runs with: after an exploit, the new ones. */
  readonly params: Readonly<Record<string, Json>>;
  /** An interrupted one was cut off with its study, and goes on when that does. */
  readonly status: "waiting" | "running" | "interrupted" | "paused" | "completed" | "pruned" | "failed";
  /** What it reported, at growing steps. */
  readonly reports: readonly { readonly step: number; readonly values: Readonly<Record<string, number>> }[];
  /** The last report, or what the trial returned; undefined before it has reported. */
  readonly result: Readonly<Record<string, number>> | undefined;
  /** Why it was pruned, paused or ended; empty when it came to its own end. */
  readonly reason: string;
  /** How often it was started. */
  readonly attempts: number;
  /** How often it failed so far. */
  readonly failures: number;
  /** The last checkpoint it told of; after an exploit, that of the other trial. */
  readonly checkpoint: TrialCheckpoint | undefined;
  /** What the trial put there: plain data, since it may run in another process. */
  readonly stash: Readonly<Record<string, Json>>;
  /** Its own directory, where the study has one. */
  readonly runDir: string | undefined;
}

/** Where a trial could go on from. */
export interface TrialCheckpoint {
  /** What `trial.resume` gives to `fit({ resume })`. */
  readonly path: string;
  /** The trial that wrote it. */
  readonly trial: number;
}

/** An error of a trial, which may have happened in another process. */
export interface TrialFailure {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

interface TuneContext {
  /** The study's name. */
  readonly study: string;
  readonly seed: number;
  /** The study's directory. */
  readonly dir: string | undefined;
  /** Which turn of the study it is, from 0: in each, something that a trial said is dealt with. */
  readonly iteration: number;
  /** All trials so far, as they are now. */
  readonly trials: readonly TrialInfo[];
  /** One for the whole study. */
  readonly shared: Shared;
  /** Ends the study: no more trials are started, those that run end at their next report. Valid while the event lasts. */
  stop(reason: string): void;
}

interface TrialContext extends TuneContext {
  readonly trial: TrialInfo;
}

/** What ends a study: whichever is used up first. */
export interface TuneBudget {
  readonly trials?: number;
  /** Of all its controllers together. */
  readonly seconds?: number;
  /** Of all its trials together, as they report them. */
  readonly steps?: number;
}

/** What hooks see in each event of a study. */
export interface TuneContexts {
  tuneSetup: TuneContext & {
    readonly objectives: readonly { readonly metric: string; readonly mode: "min" | "max" }[];
    readonly budget: TuneBudget;
    /** Whether the study goes on from its journal. */
    readonly resumed: boolean;
  };
  tuneStepBegin: TuneContext;
  tuneStepEnd: TuneContext;
  trialStart: TrialContext;
  trialRestore: TrialContext & { readonly checkpoint: TrialCheckpoint };
  trialResult: TrialContext & {
    /** What was reported; what it is changed to counts for the scheduler, the sampler and the journal. */
    readonly result: Record<string, number>;
    /** The trial's own measure of progress. */
    readonly trialStep: number;
  };
  trialCheckpoint: TrialContext & { readonly checkpoint: TrialCheckpoint };
  trialSave: TrialContext & { readonly checkpoint: TrialCheckpoint };
  trialComplete: TrialContext & { readonly result: Readonly<Record<string, number>> };
  trialRecover: TrialContext & { readonly error: TrialFailure };
  trialError: TrialContext & { readonly error: TrialFailure };
  experimentEnd: TuneContext & {
    readonly status: "completed" | "stopped" | "interrupted" | "error";
    readonly reason: string;
  };
}
