// Events outside the training loop: of an experiment, around the trainings of its models, and of a study, around its
// trials. Their rows and the types of their contexts are in core, although core does not fire them: a hook with such
// methods may be given to any trainer, which must accept them, and find a misspelt one, when neither an experiment nor a
// study is loaded. Registering them when those folders load would depend on the order of imports.
import type { HostArray } from "./arrays.ts";
import type { EventInfo } from "./events.ts";
import type { HostTensors, Loader } from "./model.ts";
import type { Json } from "./options.ts";
import type { RunResult } from "./loop/result.ts";
import type { Shared } from "./shared.ts";

interface OuterEventInfo extends EventInfo {
  /** What its context has besides the fields of every event of its kind. */
  readonly fields: readonly string[];
}

/** dataRead → datasetCreated → for each model: ( fit, with all its events → trainingComplete → evaluationComplete ) */
export const PIPELINE_EVENTS = {
  dataRead: {
    level: "pipeline",
    when: "once per experiment, after the data was read; what it returns replaces the data",
    fields: ["data"],
  },
  datasetCreated: {
    level: "pipeline",
    when: "once per experiment, after the data was split, before any model is made",
    fields: ["datasets", "folds"],
  },
  trainingComplete: {
    level: "pipeline",
    when: "once per model, with its best parameters in place",
    fields: ["model", "params", "trained", "result"],
  },
  evaluationComplete: {
    level: "pipeline",
    when: "once per model, after `trainingComplete`, with the results of its evaluation",
    fields: ["model", "params", "trained", "results"],
  },
} as const satisfies Record<string, OuterEventInfo>;

/** The events of an experiment. */
export type PipelineEvent = keyof typeof PIPELINE_EVENTS;

/** The parts of an experiment's data after the split. */
export interface Datasets<D = unknown> {
  readonly train: D;
  /** For validation during training; decides which parameters are the best. */
  readonly val?: D;
  /** Evaluated once, when a model is complete. */
  readonly test?: D;
}

/** A model that has been trained, with its best parameters in place. A Trainer is one. */
export interface TrainedModel {
  stateDict(): Promise<HostTensors>;
  predict(loader: Loader): Promise<HostArray | HostTensors>;
  evaluate(loader: Loader, options?: { readonly name?: string }): Promise<Record<string, number>>;
}

interface PipelineContext {
  /** The experiment's name. */
  readonly experiment: string;
  readonly seed: number;
  /** The experiment's directory; in the events of a model, the model's own. */
  readonly runDir: string | undefined;
  /** One for the whole experiment: what is set in `dataRead` is there in every later event, those of the loop included. */
  readonly shared: Shared;
  /** Ends the experiment after this event; the reason is in its result. Valid while the event lasts. */
  stop(reason: string): void;
}

interface ModelContext extends PipelineContext {
  /** The model's name in the experiment. */
  readonly model: string;
  /** Its hyperparameters: what was configured, as plain data. */
  readonly params: Readonly<Record<string, Json>>;
  readonly trained: TrainedModel;
}

/** What hooks see in each event of an experiment. */
export interface PipelineContexts {
  dataRead: PipelineContext & { readonly data: unknown };
  datasetCreated: PipelineContext & {
    readonly datasets: Datasets;
    /** For cross-validation: one pair of train and val for each fold. Empty without. */
    readonly folds: readonly Datasets[];
  };
  trainingComplete: ModelContext & { readonly result: RunResult };
  evaluationComplete: ModelContext & {
    /** What comes out of the experiment for this model; numbers may be added. */
    readonly results: Record<string, number>;
  };
}

/**
 * In the process that controls the study. The trials are trainings with events of their own, often in other processes.
 *
 *   tuneSetup → ( tuneStepBegin → trialStart | [trialRestore] | trialResult | trialCheckpoint → trialSave
 *                 | trialComplete | trialRecover | trialError … → tuneStepEnd ) × → experimentEnd
 */
export const TUNE_EVENTS = {
  tuneSetup: {
    level: "tune",
    when: "once, before the first trial; in a resumed study, after its journal was read",
    fields: ["objectives", "budget", "resumed"],
  },
  tuneStepBegin: { level: "tune", when: "before the controller chooses its next action", fields: [] },
  tuneStepEnd: { level: "tune", when: "after it has handled one message of a trial and written it down", fields: [] },
  trialStart: { level: "tune", when: "when a trial is given to a runner; again with each attempt", fields: ["trial"] },
  trialRestore: {
    level: "tune",
    when: "when a trial resumes from a checkpoint: its own after a failure or a pause, or another trial's",
    fields: ["trial", "checkpoint"],
  },
  trialResult: {
    level: "tune",
    when: "with each report of a trial, before it is used for decisions; the values may be changed",
    fields: ["trial", "result", "trialStep"],
  },
  trialCheckpoint: { level: "tune", when: "when a trial reports a checkpoint", fields: ["trial", "checkpoint"] },
  trialSave: {
    level: "tune",
    when: "when that checkpoint is in the journal: the trial would resume from it",
    fields: ["trial", "checkpoint"],
  },
  trialComplete: { level: "tune", when: "when a trial has ended, by itself or pruned", fields: ["trial", "result"] },
  trialRecover: { level: "tune", when: "when a trial failed and will be retried", fields: ["trial", "error"] },
  trialError: { level: "tune", when: "when a trial failed for good", fields: ["trial", "error"] },
  experimentEnd: { level: "tune", when: "last of all, however the study ended", fields: ["status", "reason"] },
} as const satisfies Record<string, OuterEventInfo>;

/** The events of a study. */
export type TuneEvent = keyof typeof TUNE_EVENTS;

/** A trial as it was when the event fired. */
export interface TrialInfo {
  /** From 0, in the order in which they were suggested. */
  readonly number: number;
  /** The parameters it runs with; after an exploit, the new ones. */
  readonly params: Readonly<Record<string, Json>>;
  /** `interrupted`: stopped with its study, and continued when the study is resumed. */
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
  /** The last checkpoint it reported; after an exploit, that of the other trial. */
  readonly checkpoint: TrialCheckpoint | undefined;
  /** What the trial put there: plain data, since it may run in another process. */
  readonly stash: Readonly<Record<string, Json>>;
  /** Its own directory, where the study has one. */
  readonly runDir: string | undefined;
  /** Whether a person has changed its training: then it taught neither sampler nor scheduler. */
  readonly touched: boolean;
}

/** What a trial can resume from. */
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
  /** The iteration of the controller, from 0: in each it handles one message of a trial. */
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

/** What ends a study: the limit that is reached first. */
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
    /** Is the study resumed from its journal? */
    readonly resumed: boolean;
  };
  tuneStepBegin: TuneContext;
  tuneStepEnd: TuneContext;
  trialStart: TrialContext;
  trialRestore: TrialContext & { readonly checkpoint: TrialCheckpoint };
  trialResult: TrialContext & {
    /** What was reported. Changes count for the scheduler, the sampler and the journal. */
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

export const OUTER_EVENTS = { ...PIPELINE_EVENTS, ...TUNE_EVENTS };
export type OuterEvent = keyof typeof OUTER_EVENTS;
export interface OuterContexts extends PipelineContexts, TuneContexts {}
