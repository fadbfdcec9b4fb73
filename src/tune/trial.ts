// The trial that a trial function gets, and one attempt at running it, in whichever process.
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import { levelOf } from "../core/events.ts";
import { CheckedHook } from "../core/registry/checked-hook.ts";
import type { Hook } from "../core/hook.ts";
import { type Json, checkOptions, is, show } from "../core/options.ts";
import { monitorValue } from "../core/names.ts";
import { Rng } from "../data/random.ts";
import type { TrialHost, TrialJob, TrialOutcome, Verdict } from "./runners/runner.ts";
import { TrialPruned } from "./study-errors.ts";
import type { Params, Result } from "./types.ts";

/** What a trial function gets: its parameters, and how it reports and resumes. */
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
  /** The checkpoint to resume from, for `fit({ resume: trial.resume })`; undefined: from the beginning. */
  readonly resume: string | undefined;
  /** Plain data of the trial's own. Hooks of the study see it, and the next attempt gets it again. */
  readonly stash: Record<string, Json>;
  /** Aborted when the study ends before the trial does. Pass it to `fit`, and the trial can be resumed later. */
  readonly signal: AbortSignal;
  /**
   * Reports progress; `step` is the trial's own measure of it, by default the number of the report. Throws a
   * TrialPruned when the trial must end here.
   */
  report(values: Result, step?: number): Promise<void>;
  /** Reports a checkpoint that the trial can resume from. `trial.hook()` does this for a trainer's checkpoints. */
  checkpoint(path: string): Promise<void>;
  /** Says that the trial waits for a person, or no longer: `timeout` stands still. `trial.hook()` does this. */
  paused(isPaused: boolean): void;
  /**
   * Hooks of the study that listen to a training, for its trainer: those of this process, and those named by their
   * module's export, made for this attempt.
   */
  readonly hooks: readonly Hook[];
  /** For a trainer: reports its evaluations and checkpoints, and ends it at a safe point when the study says so. */
  hook(options?: TrialHookOptions): Hook;
}

/** A trial. Its return value is its result; without one, its last report is. */
export type TrialFunction<P = Params> = (trial: Trial<P>) => Promise<Result | void> | Result | void;

/** Options of `trial.hook()`. */
export interface TrialHookOptions {
  /** Which metrics are reported. Default: all. */
  readonly metrics?: readonly string[];
  /** Default `trial`. */
  readonly name?: string;
}

/** Separates these draws from those of samplers, which are seeded with the same two numbers. */
const TRIAL = 0x7121a1;

/** The seed of a trial: a function of the study's seed and the trial's number. */
export const trialSeed = (seed: number, number: number): number => new Rng(seed, number, TRIAL).int(2 ** 31);

/** Whether a hook has methods for the study's own events, or for those of a trainer or an experiment. */
export const listensTo = (hook: Hook, what: "study" | "training"): boolean =>
  [...new CheckedHook(hook).methods.keys()].some((event) => (levelOf(event) === "tune") === (what === "study"));

/** Returns reported values, or throws an error that names the wrong one. NaN is allowed: a trial may diverge. */
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

/** @param hooks of the study; those that listen to a training go to the trial's trainer */
export async function runAttempt(
  fn: TrialFunction<never>,
  job: TrialJob,
  host: TrialHost,
  hooks: readonly Hook[] = [],
): Promise<TrialOutcome> {
  const { objectives, hooks: _sources, ...given } = job;
  const stash = structuredClone(job.stash);
  let verdict: Verdict = { kind: "continue" };
  let usesSignal = false;
  let lastStep = 0;
  const trial: Trial = {
    ...given,
    hooks: hooks.filter((hook) => listensTo(hook, "training")),
    stash,
    get signal() {
      usesSignal = true;
      return host.signal;
    },
    async report(values, step = lastStep + 1) {
      const checked = checkValues("trial.report", values);
      if (!is.positive.test(step) || !Number.isFinite(step))
        throw new OptionError(`trial.report: Expected \`step\` to be a finite number > 0, got ${show(step)}`);
      if (verdict.kind === "continue") verdict = await host.report(step, checked, plainCopy(stash));
      lastStep = step;
      if (verdict.kind !== "continue") throw new TrialPruned(verdict.kind, verdict.reason);
    },
    checkpoint: (path) => host.checkpoint(path, plainCopy(stash)),
    paused: (isPaused) => host.paused?.(isPaused),
    hook: (options) => trialHook(trial, objectives, options),
  };
  const isInterrupted = (): boolean => verdict.kind === "interrupt" || (usesSignal && host.signal.aborted);
  try {
    const returned = await fn(trial as Trial<never>);
    const result = returned === undefined || returned === null ? undefined : checkValues("A trial's result", returned);
    return { result, stash: plainCopy(stash), interrupted: isInterrupted() };
  } catch (error) {
    // After the study ended the trial, a TrialPruned is the expected way out; after an interruption, any error is.
    const wasEnded = verdict.kind !== "continue" && error instanceof TrialPruned;
    if (!wasEnded && !isInterrupted()) throw error;
    return { result: undefined, stash: plainCopy(stash), interrupted: isInterrupted() };
  }
}

/** A copy of plain data; anything else is an error here, not later in the journal. */
function plainCopy(stash: Trial["stash"]): Trial["stash"] {
  try {
    const text = JSON.stringify(stash);
    return JSON.parse(text) as Trial["stash"];
  } catch (cause) {
    throw new OptionError("trial.stash holds something other than plain data.", { cause });
  }
}

/** @param objectives the study's metrics: an evaluation with one of them is reported at once, others with the epoch */
export function trialHook(trial: Trial, objectives: readonly string[], options: TrialHookOptions = {}): Hook {
  checkOptions("trial.hook", options, { metrics: is.arrayOf(is.name), name: is.name });
  const { metrics, name = "trial" } = options;
  let reportedAt = 0;
  /** Checkpoints that must be kept: the newest that the study knows, and the one before, which may still be read. */
  let held: readonly string[] = [];

  const report = async (ctx: ContextOf<"evalEnd"> | ContextOf<"epochEnd">): Promise<void> => {
    if (ctx.step <= reportedAt) return;
    reportedAt = ctx.step;
    const values = { ...ctx.metrics };
    // An objective may use another system's name for a metric.
    for (const metric of objectives) {
      const value = monitorValue(values, metric);
      if (value !== undefined) values[metric] = value;
    }
    const wanted = Object.entries(values).filter(([metric]) => metrics === undefined || metrics.includes(metric));
    try {
      await trial.report(Object.fromEntries(wanted), ctx.step);
    } catch (error) {
      if (!(error instanceof TrialPruned)) throw error;
      const resumes = error.kind === "pause" || error.kind === "interrupt";
      if (resumes && ctx.checkpoints.enabled) ctx.requestSave(error.kind);
      ctx.stop(error.message);
    }
  };

  return {
    name,
    stage: "monitor",
    onTrainBegin(ctx) {
      // Until there is a newer checkpoint, a retry resumes from this one too.
      const from = ctx.checkpoints.list().find(({ dir }) => dir !== undefined && dir === trial.resume);
      if (!from) return;
      held = [from.name];
      ctx.checkpoints.hold(held);
    },
    async onEvalEnd(ctx) {
      const hasObjective = objectives.some((metric) => monitorValue(ctx.evalMetrics, metric) !== undefined);
      if (ctx.phase === "eval" && !ctx.partial && hasObjective) await report(ctx);
    },
    async onEpochEnd(ctx) {
      if (!ctx.partial) await report(ctx);
    },
    onPause: () => trial.paused(true),
    onContinue: () => trial.paused(false),
    async onAfterSave(ctx) {
      const { dir, name: saved } = ctx.saved;
      if (dir === undefined) return;
      ctx.checkpoints.hold([saved]);
      await trial.checkpoint(dir);
      const all = [...held.filter((other) => other !== saved), saved];
      ctx.checkpoints.release(all.slice(0, -2));
      held = all.slice(-2);
    },
  };
}
