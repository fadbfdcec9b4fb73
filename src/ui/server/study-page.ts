// A study as the page shows it, from its journal.
import type { TrialInfo } from "../../core/outer-events.ts";
import type { Json } from "../../core/options.ts";
import { livenessOfHello, readHello } from "../../runs/control/read-control.ts";
import { importance } from "../../tune/importance.ts";
import { rankTrials } from "../../tune/ranking.ts";
import { readStudy, type ReadStudy } from "../../tune/study-store.ts";
import { valueAtPath } from "../../tune/study-table.ts";
import type { ControlHello, StudyPage, StudyRow, TrialRow } from "../wire.ts";

/** A study without the ids, which only the index knows. */
export type ReadStudyPage = Omit<StudyPage, "row" | "trials"> & {
  readonly row: Omit<StudyRow, "id" | "name">;
  readonly trials: readonly (Omit<TrialRow, "run"> & { readonly runDir: string | null })[];
};

/** Undefined when its controller has written nothing yet. */
export function readStudyPage(dir: string): ReadStudyPage | undefined {
  const study = readStudy(dir);
  if (!study) return undefined;
  const { space, objectives, trials } = study;
  const found = importance(space, trials, objectives);
  const hello = readHello(dir);
  const example = rankTrials(trials, objectives)[0] ?? trials[0];
  const isListening = hello !== undefined && livenessOfHello(hello) !== "dead";
  return {
    row: rowOf(study, isListening ? hello : undefined),
    objectives: objectives.map(({ metric, mode }) => ({ metric, mode })),
    parameters: space.parameters.map((parameter) =>
      parameter.kind === "choice"
        ? { name: parameter.path, scale: "choice", choices: parameter.labels.map(String) }
        : { name: parameter.path, scale: parameter.kind === "logUniform" ? "log" : "linear" },
    ),
    trials: trials.map((trial) => trialOf(trial, study)),
    example: example?.params ?? null,
    importance: found ? found.parameters.map(({ parameter, share }) => ({ name: parameter.path, share })) : null,
    allow: isListening ? hello.allow : [],
  };
}

const ENDED: ReadonlySet<TrialInfo["status"]> = new Set(["completed", "pruned", "failed"]);

/** @param hello of its controller, if one listens */
function rowOf({ status, objectives, trials }: ReadStudy, hello: ControlHello | undefined): ReadStudyPage["row"] {
  const { metric } = objectives[0]!;
  const best = rankTrials(trials, objectives).find((trial) => trial.status === "completed");
  return {
    state: hello?.state === "paused" ? "paused" : (status as StudyRow["state"]),
    trials: trials.length,
    planned: hello?.totalTrials ?? null,
    done: trials.filter((trial) => ENDED.has(trial.status)).length,
    best: best?.result?.[metric] ?? null,
    objective: metric,
  };
}

function trialOf(trial: TrialInfo, { space, objectives }: ReadStudy): ReadStudyPage["trials"][number] {
  const { number, status, result = {}, reports, reason, runDir, touched } = trial;
  const first = objectives[0]!.metric;
  const results = objectives.flatMap(({ metric }) => (result[metric] === undefined ? [] : [[metric, result[metric]]]));
  return {
    number,
    status,
    params: Object.fromEntries(space.parameters.map(({ path }) => [path, valueAt(trial, path, space.parameters)])),
    result: Object.fromEntries(results) as Record<string, number>,
    reports: reports.flatMap(({ step, values }) =>
      values[first] === undefined ? [] : [[step, values[first]] as const],
    ),
    reason,
    runDir: runDir ?? null,
    touched,
  };
}

/** Numbers as they are, everything else as text; null where the trial does not have the parameter. */
function valueAt(trial: TrialInfo, path: string, parameters: ReadStudy["space"]["parameters"]) {
  let value: Json | undefined = trial.params;
  for (const key of path.split(".")) value = (value as Readonly<Record<string, Json>> | undefined)?.[key];
  if (typeof value === "number") return value;
  return value === undefined ? null : valueAtPath(trial, path, parameters);
}
