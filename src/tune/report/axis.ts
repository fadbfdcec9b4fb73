// Axes: the position of a value between the two ends, and which values are labelled.
import type { SpaceParameter } from "../space/compile.ts";
import type { Objective } from "../types.ts";

export interface Axis {
  /** From 0 at the low end to 1 at the high end; values beyond are placed at the end. */
  place(value: number): number;
  /** Whether it lies between the ends. */
  holds(value: number): boolean;
  readonly ticks: readonly Tick[];
}

interface Tick {
  readonly at: number;
  readonly text: string;
}

const clamp = (place: number): number => Math.min(1, Math.max(0, place));

function axis(scale: (value: number) => number, low: number, high: number, ticks: readonly number[]): Axis {
  const [from, width] = [scale(low), scale(high) - scale(low)];
  const place = (value: number): number => (width === 0 ? 0.5 : clamp((scale(value) - from) / width));
  const holds = (value: number): boolean => value >= low && value <= high;
  return { place, holds, ticks: ticks.map((value) => ({ at: place(value), text: tickText(value) })) };
}

/** `0.05`, `1e-4`, `20k`, `3M`: a tick is a round number. */
function tickText(value: number): string {
  const round = Number(value.toPrecision(6));
  const size = Math.abs(round);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return round.toExponential().replace("e+", "e");
  if (size >= 1e6) return `${round / 1e6}M`;
  return size >= 1e4 ? `${round / 1e3}k` : String(round);
}

export function linearAxis(low: number, high: number, most = 6): Axis {
  return axis((value) => value, low, high, roundNumbers(low, high, most));
}

export function logAxis(low: number, high: number, most = 6): Axis {
  const powers = multiples(low, high, [1]);
  const ticks = powers.length >= 2 ? thinned(powers, most) : multiples(low, high, [1, 2, 5]);
  return axis(Math.log, low, high, ticks.length >= 2 ? ticks : roundNumbers(low, high, most));
}

/** Options at equal distances. */
export function optionAxis(labels: readonly string[]): Axis {
  const place = (option: number): number => (labels.length === 1 ? 0.5 : option / (labels.length - 1));
  return { place, holds: () => true, ticks: labels.map((text, option) => ({ at: place(option), text })) };
}

export function parameterAxis(parameter: SpaceParameter): Axis {
  if (parameter.kind === "choice") return optionAxis(parameter.labels);
  const { low, high, log } = parameter.domain;
  return log ? logAxis(low, high) : linearAxis(low, high);
}

/** Beyond this ratio of the largest to the smallest, a linear axis would show most values at zero. */
const LOG_FROM = 50;

/** For the values of an objective. Outliers that are far worse than the rest are placed at the edge. */
export function objectiveAxis(values: readonly number[], { mode }: Pick<Objective, "mode">): Axis {
  if (values.length === 0) return linearAxis(0, 1);
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  if (low > 0 && high / low > LOG_FROM) return logAxis(low, high);
  const sorted = values.toSorted((a, b) => a - b);
  const quantile = (q: number): number => sorted[Math.round(q * (sorted.length - 1))]!;
  const spread = 3 * (quantile(0.75) - quantile(0.25));
  const [from, to] =
    mode === "min" ? [low, Math.min(high, quantile(0.75) + spread)] : [Math.max(low, quantile(0.25) - spread), high];
  // Also if all values are equal.
  const margin = to > from ? 0.04 * (to - from) : Math.abs(to) / 10 || 1;
  return linearAxis(from - margin, to + margin);
}

/** At most `most` multiples of 1, 2 or 5 times a power of ten. */
function roundNumbers(low: number, high: number, most: number): readonly number[] {
  const width = high - low;
  if (!(width > 0) || !Number.isFinite(width)) return [low];
  const power = 10 ** Math.floor(Math.log10(width / most));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => width / each <= most)!;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function multiples(low: number, high: number, factors: readonly number[]): readonly number[] {
  const first = Math.floor(Math.log10(low) - 1e-9);
  const last = Math.ceil(Math.log10(high));
  return Array.from({ length: last - first + 1 }, (_, i) => factors.map((factor) => Number(`${factor}e${first + i}`)))
    .flat()
    .filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

function thinned(values: readonly number[], most: number): readonly number[] {
  const every = Math.ceil(values.length / most);
  return values.filter((_, i) => i % every === 0);
}
