// What a trial's function is given: its parameters, and the way to say how it goes.
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { type Json, checkOptions, is, show } from "../core/options.ts";
import type { Params, Result } from "./types.ts";
import { Rng } from "../data/random.ts";
import { levelOf } from "../core/events.ts";
import { CheckedHook } from "../core/checked-hook.ts";
import type { TrialHost, TrialJob, TrialOutcome, Verdict } from "./runners/runner.ts";
import { TrialPruned } from "./study-errors.ts";
import type { ContextOf } from "../core/context.types.ts";
import { monitorValue } from "../core/names.ts";

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

// The seed of a trial: a function of the study's seed and the trial's number.

/** Keeps these draws apart from those of samplers, which begin with the same two numbers. */
const TRIAL = 0x7121a1;

export const trialSeed = (seed: number, number: number): number => new Rng(seed, number, TRIAL).int(2 ** 31);

// Which hooks of a study are for the trainers of its trials too.

/** Whether a trainer or an experiment has something to call. */
export const listensToTraining = (hook: Hook): boolean =>
  [...new CheckedHook(hook).methods.keys()].some((event) => levelOf(event) !== "tune");

// One attempt at a trial, wherever it runs: calls the trial's function, and keeps what it is told.

/** @param hooks of the study, for the trainer */
export async function runAttempt(
  fn: TrialFunction<never>,
  job: TrialJob,
  host: TrialHost,
  hooks: readonly Hook[] = [],
): Promise<TrialOutcome> {
  const { objectives, hooks: _sources, hookFields: _fields, ...given } = job;
  const stash = structuredClone(job.stash);
  let told: Verdict = { kind: "continue" };
  let watches = false;
  let last = 0;
  const trial: Trial = {
    ...given,
    hooks,
    stash,
    get signal() {
      watches = true;
      return host.signal;
    },
    async report(values, step = last + 1) {
      const checked = checkValues("trial.report", values);
      if (!is.positive.test(step) || !Number.isFinite(step))
        throw new OptionError(`trial.report: Expected \`step\` to be a finite number > 0, got ${show(step)}`);
      if (told.kind === "continue") told = await host.report(step, checked, plain(stash));
      last = step;
      if (told.kind !== "continue") throw new TrialPruned(told.kind, told.reason);
    },
    checkpoint: (path) => host.checkpoint(path, plain(stash)),
    hook: (options) => trialHook(trial, objectives, options),
  };
  const interrupted = (): boolean => told.kind === "interrupt" || (watches && host.signal.aborted);
  try {
    const result = await fn(trial as Trial<never>);
    const checked = result === undefined || result === null ? undefined : checkValues("What a trial returns", result);
    return { result: checked, stash: plain(stash), interrupted: interrupted() };
  } catch (error) {
    // It was told to leave, and left this way.
    if (told.kind === "continue" && !interrupted()) throw error;
    if (!(error instanceof TrialPruned) && !interrupted()) throw error;
    return { result: undefined, stash: plain(stash), interrupted: interrupted() };
  }
}

/** A copy, and an error here rather than in a journal when it is no plain data. */
function plain(stash: Trial["stash"]): Trial["stash"] {
  try {
    const text = JSON.stringify(stash);
    return JSON.parse(text) as Trial["stash"];
  } catch (cause) {
    throw new OptionError("trial.stash holds something that is no plain data.", { cause });
  }
}

// trial.hook(): a trainer's evaluations and checkpoints, told to the study; and the study's will, done at a safe point.

/** Options of `trial.hook()`. */
export interface TrialHookOptions {
  /** Which metrics are reported. Default: all that there are. */
  readonly metrics?: readonly string[];
  /** Default `trial`. */
  readonly name?: string;
}

/** `objectives` are the study's metrics: an evaluation with one of them is reported at once, others with the epoch. */
export function trialHook(trial: Trial, objectives: readonly string[], options: TrialHookOptions = {}): Hook {
  checkOptions("trial.hook", options, { metrics: is.arrayOf(is.name), name: is.name });
  const { metrics, name = "trial" } = options;
  let reportedAt = 0;
  /** Checkpoints that the study knows of, which must stay: the newest, and the one before for who is just reading it. */
  let held: readonly string[] = [];

  const report = async (ctx: ContextOf<"evalEnd"> | ContextOf<"epochEnd">): Promise<void> => {
    if (ctx.step <= reportedAt) return;
    reportedAt = ctx.step;
    const values = { ...ctx.metrics };
    // An objective may be called by another system's name.
    for (const metric of objectives) {
      const value = monitorValue(values, metric);
      if (value !== undefined) values[metric] = value;
    }
    const wanted = Object.entries(values).filter(([metric]) => metrics === undefined || metrics.includes(metric));
    try {
      await trial.report(Object.fromEntries(wanted), ctx.step);
    } catch (error) {
      if (!(error instanceof TrialPruned)) throw error;
      // It will go on from here: let it have a checkpoint to do so.
      const goesOn = error.kind === "pause" || error.kind === "interrupt";
      if (goesOn && ctx.checkpoints.enabled) ctx.requestSave(error.kind);
      ctx.stop(error.message);
    }
  };

  return {
    name,
    stage: "monitor",
    onTrainBegin(ctx) {
      // Until there is a newer one, this is where the trial would go on from once more.
      const from = ctx.checkpoints.list().find(({ dir }) => dir !== undefined && dir === trial.resume);
      if (!from) return;
      held = [from.name];
      ctx.checkpoints.hold(held);
    },
    async onEvalEnd(ctx) {
      const isOurs = objectives.some((metric) => monitorValue(ctx.evalMetrics, metric) !== undefined);
      if (ctx.phase === "eval" && !ctx.partial && isOurs) await report(ctx);
    },
    async onEpochEnd(ctx) {
      if (!ctx.partial) await report(ctx);
    },
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
