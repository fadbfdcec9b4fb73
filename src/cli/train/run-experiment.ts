// Runs an experiment for `train` and `resume`: writes its record, and prints the result.
import { dirname } from "node:path";
import type { Hook } from "../../core/hook.ts";
import { control, type ControlOptions } from "../../hooks/control/control.ts";
import { fittedPreprocessor } from "../../data/preprocess/fitted-preprocessor.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { ExperimentOptions, ExperimentResult } from "../../experiment/types.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { formatMetric, formatNumber } from "../../terminal/format-number.ts";
import { EXIT_CODES } from "../../platform/platform.ts";
import { EXIT, running, UsageError } from "../errors.ts";
import { keepStdoutFree, print, printJson, say, typed, typedResume } from "../output.ts";
import { isMainRank } from "../ranks.ts";
import { writeExperimentRecord } from "../../runs/experiment-json.ts";
import { type NewRecord, trainsLanguageModel } from "./run-directory.ts";
import { table } from "../table.ts";
import { loadKoffi } from "../../distributed/libmpi.ts";

export interface Task {
  readonly options: ExperimentOptions;
  readonly runDir: string;
  readonly record: NewRecord;
  readonly resume: boolean;
  /** What the config says of `control`, and what the command line says of a replay; undefined: not added. */
  readonly control?: ControlOptions | undefined;
  readonly quiet?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Resolves to the exit code. */
export async function runExperiment(task: Task): Promise<number> {
  const { options, runDir, record, resume, quiet, json } = task;
  const giveStdoutBack = json ? keepStdoutFree() : undefined;
  try {
    const isMain = isMainRank();
    const own = isMain ? [recordHook(runDir, record), ...(quiet ? [] : [choicesHook])] : [];
    const hooks = [...own, ...withControl(options.hooks ?? [], task.control)];
    const experiment = new Experiment({ ...options, runDir, hooks });
    const result = await running(() => experiment.run({ resume }));
    giveStdoutBack?.();
    if (isMain && json) printJson({ ...result, runDir });
    else if (isMain && !quiet) print(describe(result, runDir, trainsLanguageModel(record)));
    return result.status === "interrupted" ? (EXIT_CODES[result.requestedBy] ?? EXIT.failed) : EXIT.ok;
  } finally {
    giveStdoutBack?.();
  }
}

/** A config may have the hook with options of its own. */
function withControl(hooks: readonly Hook[], options: ControlOptions | undefined): readonly Hook[] {
  const own = hooks.some(({ name }) => name === "control");
  const isReplay = options?.script !== undefined || options?.replay === false;
  if (own && isReplay)
    throw new UsageError("The config has a hook `control` of its own: give it `script` or `replay` there.");
  return own || !options ? hooks : [...hooks, control(options)];
}

/** Writes the record just before training begins, when the data has been read: a failure before that leaves no files. */
const recordHook = (runDir: string, record: NewRecord): Hook => ({
  name: "experiment.json",
  stage: "progress",
  onError: "throw",
  onDatasetCreated: () => writeExperimentRecord(runDir, record),
});

/** Says what `auto` chose for the columns of a table. */
const choicesHook: Hook = {
  name: "preprocessing",
  stage: "progress",
  onDatasetCreated({ shared }) {
    const { choices = [], width } = shared.get(fittedPreprocessor) ?? {};
    if (choices.length > 0) say(`preprocessing, ${width} features:\n${choices.map((each) => `  ${each}`).join("\n")}`);
  },
};

function describe({ status, reason, models }: ExperimentResult, runDir: string, talks: boolean): string {
  const all = Object.values(models);
  const names = [...new Set(all.flatMap(({ results }) => Object.keys(results)))];
  const rows = all.map(({ model, training, results }) => [
    model,
    training.reason,
    `${training.steps}`,
    formatDuration(training.elapsed),
    ...names.map((name) => (Object.hasOwn(results, name) ? formatMetric(name, results[name]!) : "")),
  ]);
  const columns = names.map((name) => ` ${name}`);
  const narrow = { cut: "ended", leaveOut: [" time", " steps", ...columns.slice(1).toReversed()] };
  const where = dirname(runDir) === "runs" ? "" : ` ${dirname(runDir)}`;
  const talk = talks ? `Talk to it: ${typed(`chat ${runDir}`)}\n` : "";
  const next =
    status === "interrupted"
      ? `Resume it: ${typedResume(runDir)}`
      : `${talk}Look at it: ${[`inspect ${runDir}`, `runs${where}`, `ui${where}`].map((each) => typed(each)).join(", ")}`;
  return [
    ...(rows.length > 0 ? [table(["model", "ended", " steps", " time", ...columns], rows, narrow)] : []),
    ...all.flatMap(({ model, folds = {} }) =>
      Object.entries(folds).map(
        ([name, { mean, std }]) => `${model}, over the folds: ${name} ${formatNumber(mean)} ± ${formatNumber(std)}`,
      ),
    ),
    `${status}${reason ? ` (${reason})` : ""}. Its files are in ${runDir}.`,
    next,
  ].join("\n");
}

/** Reports that a resumed run has nothing left to train: otherwise it would look like an instant run. */
export function nothingLeft(): Hook {
  let from = 0;
  return {
    name: "nothingLeft",
    stage: "progress",
    ranks: "main",
    onTrainBegin: ({ step }) => void (from = step),
    onTrainEnd({ step, epoch, status, reason }) {
      if (status !== "completed" || step === 0 || step > from) return;
      say(`Nothing was left to train: the run was at step ${step}, in epoch ${epoch + 1}, and ends after ${reason}.`);
    },
  };
}

/** Checks, before `launch` starts ranks, for what they need to join. A custom strategy needs nothing of ours. */
export function checkJoining({ strategy = "auto" }: Pick<ExperimentOptions, "strategy">): void {
  if (strategy === "auto" || strategy === "mpi") loadKoffi();
}
