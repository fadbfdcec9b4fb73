// ROC AUC and average precision: how well scores separate a class from the rest, whatever the threshold.
import { numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import type { RowMetric } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { expectClassIndices } from "../targets.ts";
import { className, expectClasses, isCounted, outputsAndTargets, weightOf } from "./decisions.ts";
import { MAX_ROWS, ROW_CHECKS, type RowOptions } from "./rows.ts";

/** Options of `rocAuc` and `averagePrecision`. */
export interface RankingOptions extends RowOptions {
  /**
   * One number from those of more than two classes, each against the rest: their mean, or their mean weighted by how often
   * each class occurs (default `macro`).
   */
  readonly average?: "macro" | "weighted";
  /** Reports each class too: `val/auc/cat` (default false). */
  readonly perClass?: boolean;
  /** Names of the classes, in their order. */
  readonly names?: readonly string[];
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

const CHECKS = {
  ...ROW_CHECKS,
  average: is.oneOf("macro", "weighted"),
  perClass: is.boolean,
  names: is.arrayOf(is.name),
  ignoreIndex: is.whole,
};

/**
 * The area under the ROC curve: the probability that a sample of the class has a higher score than another one. NaN if
 * all samples, or none, are of the class; such classes are left out of a mean.
 */
export const rocAuc = /* @__PURE__ */ component(
  { kind: "metric", name: "rocAuc", takes: () => ({ options: CHECKS }) },
  (options: RankingOptions = {}): RowMetric => rankingMetric("rocAuc", options, areaUnderRoc),
);

/** Average precision: the precision at each threshold, weighted by the recall that it adds. 0 for a class without samples. */
export const averagePrecision = /* @__PURE__ */ component(
  { kind: "metric", name: "averagePrecision", takes: () => ({ options: CHECKS }) },
  (options: RankingOptions = {}): RowMetric => rankingMetric("averagePrecision", options, precisionMean),
);

function rankingMetric(owner: string, options: RankingOptions, measure: (ranking: Ranking) => number): RowMetric {
  const { maxRows = MAX_ROWS, average = "macro", perClass = false, names, ignoreIndex = -100 } = options;
  return {
    maxRows,
    ...(!names && { named: (known: readonly string[]) => rankingMetric(owner, { ...options, names: known }, measure) }),
    ...(perClass && { values: ["", ...(names ?? ["*"])] }),
    update(outputs, batch) {
      const { x, y, reading } = outputsAndTargets(owner, outputs, batch);
      const width = reading === "logit" ? 1 : x.shape.at(-1)!;
      if (reading === "classes") expectClassIndices(owner, x, y, ignoreIndex);
      if (names && width > 1) expectClasses(owner, width, { names });
      const weight = weightOf(owner, batch, y.shape, isCounted(y, ignoreIndex));
      const shape = reading === "labels" ? [-1, width] : [-1];
      return {
        scores: x.reshape([-1, width]),
        labels: y.astype(np.float32).reshape(shape),
        weight: weight.reshape(shape),
      };
    },
    compute({ scores, labels, weight }) {
      const classes = rankings(scores!, labels!, weight!);
      const values = classes.map(measure);
      const overall = meanOf(values, average === "weighted" ? classes.map(({ positives }) => positives) : undefined);
      // Two classes have one ranking, which is not that of either.
      if (!perClass || classes.length === 1) return overall;
      return { "": overall, ...Object.fromEntries(values.map((value, i) => [className(names, i), value])) };
    },
  };
}

/** The mean of the values that there are. */
function meanOf(values: readonly number[], weights?: readonly number[]): number {
  let [sum, total] = [0, 0];
  for (const [i, value] of values.entries()) {
    const weight = weights?.[i] ?? 1;
    if (Number.isNaN(value)) continue;
    sum += weight * value;
    total += weight;
  }
  return values.length === 1 ? values[0]! : sum / total;
}

/** The samples that count by falling score: for each group of equal scores, the weight of those of the class and of others. */
interface Ranking {
  readonly groups: readonly (readonly [positives: number, negatives: number])[];
  readonly positives: number;
  readonly negatives: number;
}

/** One ranking for one logit or two classes, else one for each class or label. */
function rankings(scores: HostArray, labels: HostArray, weight: HostArray): Ranking[] {
  const [rows, width] = scores.shape as [number, number];
  const at = ({ data, shape }: HostArray, row: number, column: number): number =>
    data[shape.length === 1 ? row : row * width + column]!;
  const areClasses = labels.shape.length === 1 && width > 1;
  const logits = areClasses ? logOdds(scores) : scores.data;
  const columns = areClasses && width === 2 ? [1] : Array.from({ length: width }, (_, i) => i);
  return columns.map((column) => {
    const isPositive = (row: number): boolean =>
      areClasses ? labels.data[row] === column : at(labels, row, column) > 0.5;
    return rank(
      Float64Array.from({ length: rows }, (_, row) => logits[row * width + column]!),
      isPositive,
      (row) => at(weight, row, column),
    );
  });
}

/** log(p ÷ (1 − p)) of each class, which orders samples like p, and tells apart those whose p is nearly 1. */
function logOdds({ data, shape }: HostArray): Float64Array {
  const width = shape[1]!;
  const odds = new Float64Array(data.length);
  for (let from = 0; from < data.length; from += width) {
    for (let i = 0; i < width; i++) {
      let largest = -Infinity;
      for (let j = 0; j < width; j++) if (j !== i) largest = Math.max(largest, data[from + j]!);
      let sum = 0;
      for (let j = 0; j < width; j++) if (j !== i) sum += Math.exp(data[from + j]! - largest);
      odds[from + i] = data[from + i]! - largest - Math.log(sum);
    }
  }
  return odds;
}

function rank(scores: Float64Array, isPositive: (row: number) => boolean, weightOf: (row: number) => number): Ranking {
  const rows = Uint32Array.from(scores.keys()).filter((row) => weightOf(row) > 0);
  rows.sort((a, b) => scores[b]! - scores[a]!);
  const groups: [number, number][] = [];
  let [positives, negatives, last] = [0, 0, Number.NaN];
  for (const row of rows) {
    const score = scores[row]!;
    if (Number.isNaN(score)) return { groups: [], positives: Number.NaN, negatives: Number.NaN };
    if (score !== last) groups.push([0, 0]);
    last = score;
    const weight = weightOf(row);
    if (isPositive(row)) {
      groups.at(-1)![0] += weight;
      positives += weight;
    } else {
      groups.at(-1)![1] += weight;
      negatives += weight;
    }
  }
  return { groups, positives, negatives };
}

function areaUnderRoc({ groups, positives, negatives }: Ranking): number {
  let [area, above] = [0, 0];
  for (const [yes, no] of groups) {
    // Samples of equal score are as likely above each other as below.
    area += no * (above + yes / 2);
    above += yes;
  }
  return area / (positives * negatives);
}

function precisionMean({ groups, positives, negatives }: Ranking): number {
  if (positives === 0 && negatives > 0) return 0;
  let [sum, right, all] = [0, 0, 0];
  for (const [yes, no] of groups) {
    right += yes;
    all += yes + no;
    sum += yes * (right / all);
  }
  return sum / positives;
}
