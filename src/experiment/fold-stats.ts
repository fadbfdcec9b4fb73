// Mean and standard deviation of each metric over the folds.
import type { FoldStats } from "../runs/results.ts";

/** Only metrics that every fold has. */
export function foldStats(results: readonly Readonly<Record<string, number>>[]): Record<string, FoldStats> {
  const names = Object.keys(results[0] ?? {}).filter((name) => results.every((each) => Object.hasOwn(each, name)));
  return Object.fromEntries(names.map((name) => [name, statsOf(results.map((each) => each[name]!))]));
}

function statsOf(values: readonly number[]): FoldStats {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, std: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0 };
}
