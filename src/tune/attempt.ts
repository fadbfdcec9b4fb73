// One attempt at a trial, wherever it runs: calls the trial's function, and keeps what it is told.
import { OptionError } from "../core/errors.ts";
import { is, show } from "../core/options.ts";
import type { Hook } from "../core/hook.ts";
import type { TrialHost, TrialJob, TrialOutcome, Verdict } from "./runners/runner.ts";
import { TrialPruned } from "./study-error.ts";
import { trialHook } from "./trial-hook.ts";
import { checkValues, type Trial, type TrialFunction } from "./trial.ts";

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
