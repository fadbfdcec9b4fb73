// What a trial's function is given: its parameters, and the way to say how it goes.
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import type { Json } from "../core/json.ts";
import { show } from "../core/options.ts";
import type { TrialHookOptions } from "./trial-hook.ts";
import type { Params, Result } from "./types.ts";

/** What a trial function is given: its parameters, and how it reports and goes on. */
export interface Trial<P = Params> {
  /** From 0, in the order in which trials were suggested. */
  readonly number: number;
  readonly params: P;
  /** A function of the study's seed and the trial's number. */
  readonly seed: number;
  /** From 0; grows when the trial is started again. */
  readonly attempt: number;
  /** The trial's own directory; undefined in a study without one. */
  readonly runDir: string | undefined;
  /** The checkpoint to go on from, for `fit({ resume: trial.resume })`; undefined: from the beginning. */
  readonly resume: string | undefined;
  /** Plain data of the trial's own: hooks of the study see it, and the next attempt has it again. */
  readonly stash: Record<string, Json>;
  /** Aborted when the study ends before the trial does. Give it to `fit`, and the trial goes on another time. */
  readonly signal: AbortSignal;
  /**
   * Says how it goes; `step` is the trial's own measure of progress, by default the number of the report. Throws a
   * TrialPruned when the trial is to end here.
   */
  report(values: Result, step?: number): Promise<void>;
  /** Says that it could go on from here. `trial.hook()` does it for the checkpoints of a trainer. */
  checkpoint(path: string): Promise<void>;
  /**
   * Hooks of the study that listen to a training, for its trainer: those of this process, and those named by their
   * module's export, made for this attempt.
   */
  readonly hooks: readonly Hook[];
  /** For a trainer: reports its evaluations and checkpoints, and ends it at a safe point when the study says so. */
  hook(options?: TrialHookOptions): Hook;
}

/** A trial. What it returns is its result; nothing: its last report is. */
export type TrialFunction<P = Params> = (trial: Trial<P>) => Promise<Result | void> | Result | void;

/** Reported values, or the error that says which is wrong. A diverged trial's NaN is fine. */
export function checkValues(owner: string, values: unknown): Result {
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new OptionError(`${owner}: expected an object of numbers, { "val/loss": 0.1 }, got ${show(values)}`);
  }
  for (const [metric, value] of Object.entries(values)) {
    if (typeof value !== "number")
      throw new OptionError(`${owner}: Expected \`${metric}\` to be a number, got ${show(value)}`);
  }
  return { ...(values as Result) };
}
