// Small curves of the list, from the ends of logs: only rows that are on a screen need one.
import { nodeFs } from "../../runs/files.ts";
import { readLogEnd } from "../../runs/describe-run.ts";
import type { Spark, SparksAnswer } from "../wire.ts";
import { badRequest } from "./answer.ts";
import type { RunIndex } from "./run-index.ts";

const SPARK_POINTS = 60;
/** Fewer points are no curve. */
const FEW_POINTS = 8;
/** More rows are on no screen. */
const MOST_RUNS = 100;

/** Of those runs that are there, by id. */
export function sparksOf(index: RunIndex, ids: readonly string[]): SparksAnswer {
  if (ids.length > MOST_RUNS) throw badRequest(`At most ${MOST_RUNS} small curves are answered at once.`);
  return Object.fromEntries(
    ids.flatMap((id) => {
      const run = index.find(id);
      return run ? [[id, sparkOf(run.dir, run.row.metric)]] : [];
    }),
  );
}

/** The main metric is that of the evaluation, unless the end of the log has too few of its values for a curve. */
function sparkOf(dir: string, metric: string | null): Spark | null {
  const { columns } = readLogEnd(nodeFs("hookline ui"), dir).records;
  const candidates = ["val/loss", "loss", ...(metric === null ? [] : [metric])];
  const counted = candidates.map((name) => ({ name, column: columns.find(name) }));
  const { name, column } =
    counted.find((each) => (each.column?.count ?? 0) >= FEW_POINTS) ?? counted.find((each) => each.column?.count) ?? {};
  if (name === undefined || !column) return null;
  const { values, count } = column;
  return { metric: name, values: Array.from(values.subarray(Math.max(0, count - SPARK_POINTS), count)) };
}
