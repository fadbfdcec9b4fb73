// A small curve without axes.
import type { RunRow } from "../../wire.ts";
import { sparkOf } from "../data/sparks.ts";

export function Spark({ row }: { row: RunRow }) {
  const { metric, values } = sparkOf(row).value ?? { metric: "", values: [] };
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return null;
  const min = Math.min(...finite);
  const max = Math.max(...finite);
  const y = (value: number): number => 18 - (16 * (value - min)) / (max - min || 1);
  let path = "";
  let gap = true;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return void (gap = true);
    path += `${gap ? "M" : "L"}${((96 * i) / (values.length - 1)).toFixed(1)} ${y(value).toFixed(1)}`;
    gap = false;
    return undefined;
  });
  return (
    <svg class="spark" viewBox="0 0 96 20" width="96" height="20" role="img" aria-label={`${metric} lately`}>
      <path d={path} />
    </svg>
  );
}
