// The lines of the list: runs that match, sorted, in groups where one asks for it.
import type { RunRow } from "../../wire.ts";
import * as format from "../format.ts";

export interface GroupLine {
  readonly kind: "group";
  readonly key: string;
  readonly runs: readonly RunRow[];
  /** Mean and range of the best values of the main metric. */
  readonly metric: { readonly name: string; readonly mean: number; readonly min: number; readonly max: number } | null;
}

interface RunLine {
  readonly kind: "run";
  readonly key: string;
  readonly row: RunRow;
}

export type ListLine = GroupLine | RunLine;

export const directoryOf = (name: string): string => (name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : ".");

export type SortKey = "started" | "name" | "step" | "best" | "elapsed";

/** The metric by which a run is judged, if it has a best value. */
export const bestMetric = ({ metric, best }: RunRow): string | undefined =>
  metric !== null && metric in best ? metric : undefined;

export function bestOf(row: RunRow): number | undefined {
  const metric = bestMetric(row);
  return metric === undefined ? undefined : row.best[metric]!.value;
}

const ORDER: Readonly<Record<Exclude<SortKey, "started">, (a: RunRow, b: RunRow) => number>> = {
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  step: (a, b) => b.step - a.step,
  best: (a, b) => (bestOf(a) ?? Infinity) - (bestOf(b) ?? Infinity),
  elapsed: (a, b) => b.elapsed - a.elapsed,
};

/** @param runs newest first, as the list has them */
export const sortRuns = (runs: readonly RunRow[], key: SortKey): readonly RunRow[] =>
  key === "started" ? runs : [...runs].sort(ORDER[key]);

/** `by`: a hyperparameter, or `directory`. */
export function listLines(runs: readonly RunRow[], by: string | undefined): ListLine[] {
  const asLine = (row: RunRow): RunLine => ({ kind: "run", key: row.id, row });
  if (by === undefined) return runs.map(asLine);
  const groups = new Map<string, RunRow[]>();
  for (const row of runs) {
    const key =
      by === "directory" ? directoryOf(row.name) : `${by} = ${by in row.hparams ? format.value(row.hparams[by]) : "–"}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups].flatMap(([key, members]): ListLine[] => [
    { kind: "group", key, runs: members, metric: metricOf(members) },
    ...members.map(asLine),
  ]);
}

function metricOf(runs: readonly RunRow[]): GroupLine["metric"] {
  const name = runs.map(bestMetric).find((each) => each !== undefined);
  if (name === undefined) return null;
  const values = runs.flatMap(({ best }) => best[name]?.value ?? []);
  if (values.length === 0) return null;
  return {
    name,
    mean: values.reduce((sum, each) => sum + each, 0) / values.length,
    min: Math.min(...values),
    max: Math.max(...values),
  };
}

/** Hyperparameters that are not the same in all runs. */
export function differingHparams(runs: readonly RunRow[]): string[] {
  const values = new Map<string, Set<unknown>>();
  for (const { hparams } of runs)
    for (const [name, value] of Object.entries(hparams)) values.set(name, (values.get(name) ?? new Set()).add(value));
  return [...values]
    .filter(([name, set]) => set.size > 1 || runs.some(({ hparams }) => !(name in hparams)))
    .map(([name]) => name);
}
