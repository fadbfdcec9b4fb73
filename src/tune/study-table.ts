// The trials of a study as a table of text, best first.
import { layoutTable } from "../terminal/table.ts";
import type { SpaceParameter } from "./space/compile.ts";
import { orderTrials } from "./ranking.ts";
import type { Objective, StudyView, TrialRecord } from "./types.ts";

export function studyTable(trials: readonly TrialRecord[], { space, objectives }: StudyView): string {
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  const head = ["trial", "status", "steps", ...objectives.map(({ metric }) => metric), ...paths];
  const rows = orderTrials(trials, objectives).map((trial) => [
    String(trial.number),
    trial.status,
    numberText(trial.reports.at(-1)?.step),
    ...objectives.map(({ metric }: Objective) => numberText(trial.result?.[metric])),
    ...paths.map((path) => valueAtPath(trial, path, space.parameters)),
  ]);
  const { head: first, lines } = layoutTable(head, rows);
  return [first, ...lines].join("\n");
}

/** Five digits; with an exponent below 0.001. */
export function numberText(value: number | undefined): string {
  if (value === undefined) return "";
  const short = Number(value.toPrecision(5));
  return short !== 0 && Math.abs(short) < 1e-3 ? short.toExponential() : String(short);
}

/** A parameter of a trial as text; empty where the trial does not have it. */
export function valueAtPath({ params }: TrialRecord, path: string, parameters: readonly SpaceParameter[]): string {
  let value: unknown = params;
  for (const key of path.split(".")) value = (value as Record<string, unknown> | undefined)?.[key];
  if (value === undefined) return "";
  if (typeof value === "number") return numberText(value);
  // An option that is an object is shown by the component that it uses.
  const isChoice = parameters.some((parameter) => parameter.path === path && parameter.kind === "choice");
  if (isChoice && typeof value === "object" && value !== null && "use" in value) return String(value.use);
  return typeof value === "string" ? value : JSON.stringify(value);
}
