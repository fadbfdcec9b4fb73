// Between a study and the place where its trials run: this process, other processes of this machine, or other machines.
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { levelOf } from "../../core/events.ts";
import { CheckedHook } from "../../core/registry/checked-hook.ts";
import type { Hook } from "../../core/hook.ts";
import type { Json } from "../../core/options.ts";
import type { TrialFailure } from "../../core/outer-events.ts";
import type { HookSource } from "../module-hooks.ts";
import type { LeaveKind } from "../study-errors.ts";
import type { TrialFunction } from "../trial.ts";
import type { Params, Result } from "../types.ts";

type Stash = Readonly<Record<string, Json>>;

/** One attempt at a trial, as plain data that can be sent to another process. */
export interface TrialJob {
  readonly number: number;
  readonly params: Params;
  readonly seed: number;
  /** From 0. */
  readonly attempt: number;
  readonly runDir: string | undefined;
  /** The checkpoint to resume from. */
  readonly resume: string | undefined;
  readonly stash: Stash;
  /** Metrics of the objectives. */
  readonly objectives: readonly string[];
  /** Hooks of the study that the trial's process makes for itself. */
  readonly hooks?: readonly HookSource[];
}

/** Whether the trial continues after a report. */
export type Verdict = { readonly kind: "continue" } | { readonly kind: LeaveKind; readonly reason: string };

/** The study, as an attempt at a trial talks to it. */
export interface TrialHost {
  report(step: number, values: Result, stash: Stash): Promise<Verdict>;
  checkpoint(path: string, stash: Stash): Promise<void>;
  /** The trial waits for a person, or no longer: a limit of its time stands still meanwhile. */
  paused?(isPaused: boolean): void;
  /** Aborted when the study ends before the trial does. */
  readonly signal: AbortSignal;
}

/** How an attempt ended that did not fail. */
export interface TrialOutcome {
  readonly result: Result | undefined;
  readonly stash: Stash;
  /** It ended because the study did, before the trial was complete. */
  readonly interrupted: boolean;
}

/** What a runner knows about its study. */
export interface RunnerStudy {
  readonly name: string;
  /** The directory with the journal and the trials' directories. */
  readonly dir: string | undefined;
  readonly trial: TrialFunction<never> | string;
  readonly concurrency: number;
  /** Hook objects of the study: they listen in its own process. */
  readonly hooks: readonly Hook[];
  /** Hooks named by their module's export, and their instances in the study's process. */
  readonly hookSources: readonly HookSource[];
  readonly moduleHooks: readonly Hook[];
  warn(message: string): void;
  /** Ends the study with this error, when the runner cannot continue. */
  fail(error: Error): void;
}

/** Runs trials. */
export interface Runner {
  readonly name: string;
  /** How many trials it runs at once, if it limits that itself. */
  readonly size?: number;
  /** What modules of trials and hooks are relative to. Default: the working directory. */
  readonly directory?: string;
  /** Throws when it cannot run the study's kind of trial. Called once, before the first trial. */
  open(study: RunnerStudy): void | Promise<void>;
  /** Runs one attempt; rejects with the trial's error, with the fate of its process, or with a TrialLost. */
  run(job: TrialJob, host: TrialHost): Promise<TrialOutcome>;
  /** A person wants so many trials at once. */
  resize?(concurrency: number): void;
  /** Called when the study has ended. */
  close(): Promise<void>;
}

/** Messages to a trial's process. */
export type ToTrial =
  | { readonly kind: "run"; readonly trial: string; readonly directory: string; readonly job: TrialJob }
  | { readonly kind: "answer"; readonly id: number; readonly verdict: Verdict }
  | { readonly kind: "interrupt"; readonly reason: string };

/** Messages of a trial's process. */
export type FromTrial =
  | {
      readonly kind: "report";
      readonly id: number;
      readonly step: number;
      readonly values: Result;
      readonly stash: Stash;
    }
  | { readonly kind: "checkpoint"; readonly id: number; readonly path: string; readonly stash: Stash }
  | { readonly kind: "paused"; readonly isPaused: boolean }
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: TrialFailure };

/** Checks that the trials of a study can run in other processes. Returns the name of the trial's module and export. */
export function checkPortable(runner: string, { trial, hooks }: RunnerStudy): string {
  if (typeof trial !== "string") {
    throw new OptionError(
      `${runner}: trials run in other processes, which cannot have this function. Export it from a module and name that: trial: "./trial.ts#train".`,
      { option: "trial" },
    );
  }
  for (const hook of hooks) {
    const { name, methods } = new CheckedHook(hook);
    const neverCalled = [...methods.keys()].find((event) => levelOf(event) !== "tune");
    if (neverCalled === undefined) continue;
    throw new HookRegistrationError(
      `Hook \`${name}\` listens to \`${neverCalled}\`, but trials run in processes of their own. Give it to the trainer in the trial's function; what both sides need to know goes through reports and \`trial.stash\`.`,
    );
  }
  return trial;
}
