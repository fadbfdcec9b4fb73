// Rankings of items, as in search and recommendation: MRR and nDCG, each the mean over rows.
import { numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import { ProgramError } from "../../core/errors.ts";
import type { RowMetric } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { showShape } from "../layer.ts";
import { expectClassIndices, single, targetsOf } from "../targets.ts";
import { isCounted, weightOf } from "./decisions.ts";
import { MAX_ROWS, ROW_CHECKS, type RowOptions } from "./rows.ts";

/** Options of `mrr`. */
export interface MrrOptions extends RowOptions {
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/** Options of `ndcg`. */
export interface NdcgOptions extends MrrOptions {
  /** Only the first `k` places count (default: all). */
  readonly k?: number;
}

/**
 * Mean reciprocal rank: 1 ÷ the place of the first relevant item, among items ordered by score; 0 in a row without one.
 * Outputs are scores [rows, items]; targets are one item [rows], or relevances [rows, items]. Of items with equal scores
 * the relevant one is the last.
 */
export const mrr = /* @__PURE__ */ component(
  { kind: "metric", name: "mrr", takes: () => ({ options: { ...ROW_CHECKS, ignoreIndex: is.whole } }) },
  (options: MrrOptions = {}): RowMetric => retrievalMetric("mrr", options, reciprocalRank),
);

/**
 * Normalized discounted cumulative gain: relevances, divided by log2(place + 1), relative to the best order; 0 in a row
 * without a relevant item. Outputs are scores [rows, items]; targets are one item [rows], or relevances [rows, items].
 * Items with equal scores share their places.
 */
export const ndcg = /* @__PURE__ */ component(
  {
    kind: "metric",
    name: "ndcg",
    takes: () => ({ options: { ...ROW_CHECKS, ignoreIndex: is.whole, k: is.wholeFrom(1) } }),
  },
  ({ k = Infinity, ...options }: NdcgOptions = {}): RowMetric =>
    retrievalMetric("ndcg", options, (scores, relevance) => gain(scores, relevance, k)),
);

type RowScore = (scores: ArrayLike<number>, relevance: ArrayLike<number>) => number;

function retrievalMetric(owner: string, options: MrrOptions, scoreRow: RowScore): RowMetric {
  const { maxRows = MAX_ROWS, ignoreIndex = -100 } = options;
  return {
    maxRows,
    update(outputs, batch) {
      const scores = single(owner, outputs);
      const targets = targetsOf(owner, batch);
      const areItems = targets.ndim === scores.ndim - 1;
      if (areItems) expectClassIndices(owner, scores, targets, ignoreIndex);
      else if (scores.ndim !== 2 || showShape(scores) !== showShape(targets))
        throw new ProgramError(
          `${owner}: expected scores [rows, items] and targets [rows] or [rows, items], got ${showShape(scores)} and ${showShape(targets)}`,
        );
      const rows = areItems ? targets.shape : targets.shape.slice(0, 1);
      const counted = areItems ? isCounted(targets, ignoreIndex) : np.ones([...rows]);
      const items = scores.shape.at(-1)!;
      return {
        scores: scores.reshape([-1, items]),
        targets: areItems ? targets.reshape([-1]) : targets.astype(np.float32),
        weight: weightOf(owner, batch, rows, counted).reshape([-1]),
      };
    },
    // One number for each row: all scores of an evaluation would be too many.
    reduce({ scores, targets, weight }) {
      const [rows, items] = scores!.shape as [number, number];
      const value = new Float64Array(rows);
      for (let row = 0; row < rows; row++) {
        if (weight!.data[row]! > 0)
          value[row] = scoreRow(
            scores!.data.subarray(row * items, (row + 1) * items),
            relevanceOf(targets!, row, items),
          );
      }
      return { value: { data: value, shape: [rows] }, weight: weight! };
    },
    compute({ value, weight }) {
      let [sum, total] = [0, 0];
      value!.data.forEach((each, row) => {
        sum += each * weight!.data[row]!;
        total += weight!.data[row]!;
      });
      return sum / total;
    },
  };
}

function relevanceOf({ data, shape }: HostArray, row: number, items: number): ArrayLike<number> {
  if (shape.length === 2) return data.subarray(row * items, (row + 1) * items);
  const relevance = new Float64Array(items);
  relevance[data[row]!] = 1;
  return relevance;
}

function reciprocalRank(scores: ArrayLike<number>, relevance: ArrayLike<number>): number {
  let best = -Infinity;
  for (let i = 0; i < scores.length; i++) if (relevance[i]! > 0) best = Math.max(best, scores[i]!);
  let place = 0;
  for (let i = 0; i < scores.length; i++) if (scores[i]! >= best) place++;
  // No relevant item, or one whose score is NaN.
  return best === -Infinity || place === 0 ? 0 : 1 / place;
}

const discount = (place: number): number => 1 / Math.log2(place + 2);

function gain(scores: ArrayLike<number>, relevance: ArrayLike<number>, k: number): number {
  const most = Math.min(k, scores.length);
  const ideal = Float64Array.from(relevance).sort((a, b) => b - a);
  let best = 0;
  for (let place = 0; place < most; place++) best += ideal[place]! * discount(place);
  if (best === 0) return 0;
  const order = Uint32Array.from(Array.from({ length: scores.length }, (_, i) => i));
  order.sort((a, b) => scores[b]! - scores[a]!);
  let sum = 0;
  for (let from = 0; from < most;) {
    let [to, relevant, discounts] = [from, 0, 0];
    // Items of equal score: each of their places has their mean relevance.
    for (; to < order.length && scores[order[to]!] === scores[order[from]!]; to++) {
      relevant += relevance[order[to]!]!;
      if (to < most) discounts += discount(to);
    }
    if (to === from) return Number.NaN;
    sum += (relevant / (to - from)) * discounts;
    from = to;
  }
  return sum / best;
}
