// Statistics of tensors, computed on the engine in one program; only numbers come back.
import { lax, numpy as np } from "@jax-js/jax";
import type { GradStats } from "../../core/inspection.ts";
import type { Tensor, Tensors } from "../../core/model.ts";

export interface StatsRequest {
  readonly percentiles: readonly number[];
  readonly bins: number;
}

const FIXED = 6;

/** The bits of infinity. Those of every finite number are below, sign apart, and those of NaN above. */
const INFINITY_BITS = 0x7f80_0000;

/** Bits without the sign, because shaders lose NaN: `x != x`, `min` and `max` may take it for a number. */
const magnitudeBits = (x: Tensor): Tensor =>
  np.bitwiseAnd(lax.bitcastConvertType(x.ref, np.int32), np.array(0x7fff_ffff, { dtype: np.int32 }));

/** 1 where a value is NaN or infinite, else 0. */
function nonFinite(x: Tensor): Tensor {
  if (x.dtype !== np.float32) return np.zeros(x.shape);
  return magnitudeBits(x).greaterEqual(INFINITY_BITS).astype(np.float32);
}

const hasNaN = (x: Tensor): Tensor =>
  x.dtype === np.float32 ? magnitudeBits(x).max().greater(INFINITY_BITS) : np.array(false);

/** All numbers of one tensor in one vector: the six fixed ones, percentiles, histogram counts. Takes `x` by reference. */
export function statsOf(x: Tensor, { percentiles, bins }: StatsRequest): Tensor {
  const flat = x.ref.reshape([-1]);
  const mean = flat.ref.mean();
  const std = np.sqrt(np.square(flat.ref.sub(mean.ref)).mean());
  const isNaN = hasNaN(flat);
  const min = np.where(isNaN.ref, Number.NaN, flat.ref.min());
  const max = np.where(isNaN, Number.NaN, flat.ref.max());
  const numbers = [np.sqrt(np.square(flat.ref).sum()), mean, std, min.ref, max.ref, nonFinite(flat).sum()];
  const parts = [np.stack(numbers)];
  if (percentiles.length > 0) parts.push(...percentilesOf(flat.ref, percentiles));
  if (bins > 0) parts.push(histogramOf(flat, min, max, bins));
  return np.concatenate(parts);
}

/** Linear interpolation between the two nearest ranks, as NumPy and PyTorch do it. */
function percentilesOf(flat: Tensor, percentiles: readonly number[]): Tensor[] {
  const last = flat.shape[0]! - 1;
  const sorted = np.sort(flat);
  return percentiles.map((p) => {
    const rank = (p / 100) * last;
    const low = Math.floor(rank);
    const high = Math.min(low + 1, last);
    const share = rank - low;
    return sorted.ref
      .slice([low, low + 1])
      .mul(1 - share)
      .add(sorted.ref.slice([high, high + 1]).mul(share));
  });
}

/** Counts in equal bins between min and max, from the number of values below each inner edge. */
function histogramOf(flat: Tensor, min: Tensor, max: Tensor, bins: number): Tensor {
  const n = flat.shape[0]!;
  const width = max.sub(min.ref).div(bins);
  const below = Array.from({ length: bins - 1 }, (_, i) =>
    flat.ref
      .less(min.ref.add(width.ref.mul(i + 1)))
      .astype(np.float32)
      .sum(),
  );
  const upTo = [...below, np.array(n).astype(np.float32)];
  return np.stack(upTo.map((count, i) => (i === 0 ? count.ref : count.ref.sub(upTo[i - 1]!.ref))));
}

/** A row for each tensor, in the tensors' order: one read brings them all. */
export const tensorStats =
  (request: StatsRequest) =>
  (tensors: Tensors): Tensor =>
    np.stack(Object.values(tensors).map((tensor) => statsOf(tensor, request)));

/** Names the numbers of one vector. */
export function readStats(values: ArrayLike<number>, { percentiles, bins }: StatsRequest): GradStats {
  const [norm, mean, std, min, max, nonFinite] = Array.from({ length: FIXED }, (_, i) => values[i]!) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const rest = Array.from(values).slice(FIXED);
  return {
    norm,
    mean,
    std,
    min,
    max,
    nonFinite,
    ...(percentiles.length > 0 && { percentiles: rest.slice(0, percentiles.length) }),
    ...(bins > 0 && {
      histogram: {
        edges: Array.from({ length: bins + 1 }, (_, i) => min + ((max - min) * i) / bins),
        counts: rest.slice(percentiles.length),
      },
    }),
  };
}

/** How many values of each tensor are NaN or infinite, in one vector in the tensors' order. */
export const nonFiniteCounts = (tensors: Tensors): Tensor =>
  np.stack(Object.values(tensors).map((t) => nonFinite(t).sum()));

/** L2 norm of each tensor, in one vector in the tensors' order. */
export const tensorNorms = (tensors: Tensors): Tensor =>
  np.stack(Object.values(tensors).map((t) => np.sqrt(np.square(t.ref).sum())));
