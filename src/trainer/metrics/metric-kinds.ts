// The kinds of metric that a trainer takes, and what they have in common.
import { ProgramError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import type {
  AnyMetric,
  ArrayMetric,
  MetricValues,
  Outputs,
  RowMetric,
  Tensor,
  TensorBatch,
} from "../../core/model.ts";
import { show } from "../../core/options.ts";
import { refAll } from "../problem.ts";

export const isRowMetric = (metric: AnyMetric): metric is RowMetric => "maxRows" in metric;

export const isArrayMetric = (metric: AnyMetric): metric is ArrayMetric => "size" in metric;

/** Is it computed in training steps? */
export const isTrained = (metric: AnyMetric): boolean => !isRowMetric(metric) && !metric.evalOnly;

const nameOf = (metric: string, value: string): string => (value === "" ? metric : `${metric}/${value}`);

/** The names under which a metric reports, as far as they are known beforehand. */
export function valueNames(name: string, metric: AnyMetric): string[] {
  const { values = [""] } = metric as { readonly values?: readonly string[] };
  return values.map((value) => nameOf(name, value));
}

/** What `compute` returned, under the metric's name. */
export function namedValues(name: string, computed: number | MetricValues): Record<string, number> {
  if (typeof computed === "number") return { [name]: computed };
  const entries = typeof computed === "object" && computed !== null ? Object.entries(computed) : undefined;
  if (entries?.every(([, value]) => typeof value === "number"))
    return Object.fromEntries(entries.map(([value, number]) => [nameOf(name, value), number]));
  throw new ProgramError(
    `Metric \`${name}\`: compute() must return a number, or numbers by name, got ${show(computed)}.`,
  );
}

/** Calls a metric's `update` inside a program; it gets its own references to the outputs and the batch. */
export function updateOf(name: string, metric: AnyMetric, outputs: Outputs, batch: TensorBatch): unknown {
  const kept = Object.fromEntries(Object.entries(batch).map(([key, tensor]) => [key, tensor.ref]));
  try {
    return metric.update(refAll(outputs), kept);
  } catch (cause) {
    throw new ProgramError(`Metric \`${name}\` failed in update(): ${messageOf(cause)}`, { cause });
  }
}

/** What `update` returned by name; nothing if it is no object. */
export const tensorsIn = (found: unknown): [string, Tensor][] =>
  typeof found === "object" && found !== null ? Object.entries(found as Record<string, Tensor>) : [];
