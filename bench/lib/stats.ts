// Order statistics: timings on a shared machine have long tails, so means say little.

/** The value below which a share `q` of the sorted values lies. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
/** The quiet tenth: what something costs when nothing else disturbs it. */
export const p10 = (values: readonly number[]): number => quantile(values, 0.1);

/** The mean of the middle half: what a few slow moments cannot move, and what comes now here, now there still counts. */
export function midmean(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  const middle = sorted.slice(cut, sorted.length - cut);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}
