// The trial function of a sweep over an experiment: runs the experiment with the trial's parameters in its config.
import type { Hook } from "../../core/hook.ts";
import { monitorValue } from "../../core/names.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import type { ConfigTree } from "../../experiment/config/read-config.ts";
import { Experiment } from "../../experiment/experiment.ts";
import { control } from "../../hooks/control/control.ts";
import { FORMATS } from "../../runs/layout.ts";
import type { RunExperimentOptions } from "../../experiment/types.ts";
import { builtin } from "../../platform/builtin.ts";
import { StudyError, TrialPruned } from "../study-errors.ts";
import { type Trial, type TrialFunction, trialHook } from "../trial.ts";
import type { Result } from "../types.ts";
import { CHECKS_HOOK, TRIAL_HOOK, checkSplit } from "./preflight-sweep.ts";
import { recordedExperiment } from "./check-sweep.ts";
import { SWEEP_FILE, type SweepRecord, readRecord } from "./sweep-record.ts";
import { trialConfig } from "./trial-config.ts";

/** @param dir of the study */
export async function experimentTrial(dir: string): Promise<TrialFunction> {
  const record = readRecord(dir);
  if (!record) throw new StudyError(`${dir} has no ${SWEEP_FILE}: it is not a sweep of \`hookline tune\`.`);
  const source = await recordedExperiment(dir, record);
  return (trial) => run(dir, record, source, trial);
}

async function run(dir: string, record: SweepRecord, source: ConfigTree, trial: Trial): Promise<Result | void> {
  const config = await trialConfig(dir, record, source, trial.params);
  const options = await buildExperiment(config);
  const leave = new AbortController();
  const hooks = [
    ...withControl(options.hooks ?? [], config),
    ...trial.hooks,
    checks(config, trial.hooks.length > 0 ? [] : record.objectives),
    trialHook(leaving(trial, leave), record.objectives, { name: TRIAL_HOOK }),
  ];
  const experiment = new Experiment({ ...options, runDir: trial.runDir!, signals: false, hooks });
  const { status, models } = await experiment.run({
    signal: AbortSignal.any([trial.signal, leave.signal]),
    ...resumption(trial),
  });
  const [model] = Object.values(models);
  if (status === "interrupted" || !model) return undefined;
  return finalResult(record.objectives, model.training.metrics, model.results);
}

/** Each trial takes commands, as a run of `hookline train` does. */
const withControl = (hooks: readonly Hook[], { value }: ConfigDocument): readonly Hook[] =>
  value["control"] === false || hooks.some(({ name }) => name === "control") ? hooks : [...hooks, control()];

/**
 * The result, where the final evaluation has an objective that the training's reports lack. Undefined: the last report is
 * the result.
 */
function finalResult(objectives: readonly string[], training: Result, results: Result): Result | undefined {
  const isFinal = (metric: string): boolean =>
    monitorValue(training, metric) === undefined && monitorValue(results, metric) !== undefined;
  const all = { ...training, ...results };
  if (!objectives.every((metric) => results[metric] !== undefined) && !objectives.some(isFinal)) return undefined;
  // An objective may use another system's name for a metric.
  const named = objectives.map((metric) => [metric, monitorValue(all, metric)] as const);
  return { ...all, ...Object.fromEntries(named.filter((each): each is [string, number] => each[1] !== undefined)) };
}

/**
 * The same trial, except that it ends by interrupting the experiment. A stop would count as the end of the training: the
 * experiment would be evaluated, and could not be resumed.
 */
const leaving = (trial: Trial, leave: AbortController): Trial => ({
  ...trial,
  async report(values, step) {
    try {
      await trial.report(values, step);
    } catch (error) {
      if (!(error instanceof TrialPruned)) throw error;
      leave.abort(error.message);
    }
  },
});

/** Resumes from the trial's own last checkpoint, or from another trial's, whose results must not be kept. */
function resumption({ resume, runDir }: Trial): RunExperimentOptions {
  const { existsSync, rmSync } = builtin("A sweep", "node:fs");
  const { resolve, sep } = builtin("A sweep", "node:path");
  const results = `${runDir}/${FORMATS.results.file}`;
  if (resume === undefined) return { resume: existsSync(results) };
  if (!resolve(resume).startsWith(resolve(runDir!) + sep)) rmSync(results, { force: true });
  return { resume };
}

/** Checks again in the trial: the preflight may have used other data, or been skipped. */
const checks = ({ value }: ConfigDocument, objectives: readonly string[]): Hook => ({
  name: CHECKS_HOOK,
  onError: "throw",
  onDatasetCreated: ({ datasets, folds }) => checkSplit(objectives, value, { main: datasets, folds }),
});
