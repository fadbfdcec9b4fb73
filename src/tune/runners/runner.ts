// The seam between a study and where its trials run: this process, processes of this machine, or other machines.
import type { Hook } from "../../core/hook.ts";
import type { Json } from "../../core/options.ts";
import type { HookFields, HookSource } from "../module-hooks.ts";
import type { LeaveKind } from "../study-errors.ts";
import type { TrialFunction } from "../trial.ts";
import type { Params, Result } from "../types.ts";
import type { TrialFailure } from "../../core/outer-events.ts";
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { levelOf } from "../../core/events.ts";
import { CheckedHook } from "../../core/checked-hook.ts";

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

// What a study and the process of a trial say to each other.

export type ToTrial =
  | { readonly kind: "run"; readonly trial: string; readonly directory: string; readonly job: TrialJob }
  | { readonly kind: "answer"; readonly id: number; readonly verdict: Verdict }
  | { readonly kind: "interrupt"; readonly reason: string };

export type FromTrial =
  | {
      readonly kind: "report";
      readonly id: number;
      readonly step: number;
      readonly values: Readonly<Record<string, number>>;
      readonly stash: TrialJob["stash"];
    }
  | { readonly kind: "checkpoint"; readonly id: number; readonly path: string; readonly stash: TrialJob["stash"] }
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: TrialFailure };

// What a study must be for its trials to run in other processes: a trial named by its module, and hooks that miss nothing.

/** The trial's module and export, once nothing speaks against it. */
export function checkElsewhere(runner: string, { trial, hooks }: RunnerStudy): string {
  if (typeof trial !== "string") {
    throw new OptionError(
      `${runner}: trials run in other processes, which cannot have this function. Export it from a module and name that: trial: "./trial.ts#train".`,
      { option: "trial" },
    );
  }
  for (const hook of hooks) checkHere(hook);
  return trial;
}

/** A method that would never be called is a mistake, and what it would keep would be missing elsewhere. */
function checkHere(hook: Hook): void {
  const { name, methods } = new CheckedHook(hook);
  const deaf = [...methods.keys()].find((event) => levelOf(event) !== "tune");
  if (deaf === undefined) return;
  throw new HookRegistrationError(
    `Hook \`${name}\` listens to \`${deaf}\`, but trials run in processes of their own. Give it to the trainer in the trial's function; what both sides need to know goes through reports and \`trial.stash\`.`,
  );
}
