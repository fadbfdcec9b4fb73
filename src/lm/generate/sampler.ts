// Which token comes next: the most likely one, or a draw from what the options leave of the distribution.
import type { Rng } from "../../data/random.ts";

/** How tokens are chosen. */
export interface Sampling {
  /** Logits are divided by it; 0 takes the most likely token. */
  readonly temperature: number;
  /** Only the k most likely tokens. */
  readonly topK?: number | undefined;
  /** Only the most likely tokens whose probabilities add up to this. */
  readonly topP?: number | undefined;
  /** Only tokens at least this likely, as a share of the most likely one. */
  readonly minP?: number | undefined;
  /** Over 1: tokens that are there already become less likely. */
  readonly repetitionPenalty?: number | undefined;
}

export class Sampler {
  readonly #sampling: Sampling;
  readonly #rng: Rng;
  readonly #penalty: number;
  readonly #seen: Set<number>;

  /** `prompt` counts as there already. */
  constructor(sampling: Sampling, rng: Rng, prompt: Iterable<number>) {
    this.#sampling = sampling;
    this.#rng = rng;
    this.#penalty = sampling.repetitionPenalty ?? 1;
    this.#seen = new Set(this.#penalty === 1 ? [] : prompt);
  }

  /** Otherwise the engine chooses. */
  get readsLogits(): boolean {
    return this.#sampling.temperature > 0 || this.#penalty !== 1;
  }

  pick(logits: Float32Array): number {
    const id = this.#choose(penalized(logits, this.#seen, this.#penalty));
    if (this.#penalty !== 1) this.#seen.add(id);
    return id;
  }

  #choose(logits: Float32Array): number {
    if (this.#sampling.temperature === 0) return mostLikely(logits);
    const { ids, weights } = candidates(logits, this.#sampling);
    // Rounding may leave a little behind the last one.
    let left = this.#rng.next() * weights.reduce((sum, weight) => sum + weight, 0);
    const at = weights.findIndex((weight) => (left -= weight) < 0);
    return ids.at(at)!;
  }
}

function penalized(logits: Float32Array, seen: ReadonlySet<number>, penalty: number): Float32Array {
  if (seen.size === 0) return logits;
  const changed = Float32Array.from(logits);
  for (const id of seen) changed[id]! *= changed[id]! < 0 ? penalty : 1 / penalty;
  return changed;
}

function mostLikely(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[best]!) best = id;
  return best;
}

/** Tokens that may be drawn, in the order of their ids, and how likely each is relative to the most likely one. */
export function candidates(logits: Float32Array, sampling: Sampling): { ids: number[]; weights: number[] } {
  const { temperature, topK = logits.length, topP = 1, minP = 0 } = sampling;
  const best = logits[mostLikely(logits)]!;
  const lowest = topK < logits.length ? nthLargest(logits, topK) : -Infinity;
  let ids: number[] = [];
  let weights: number[] = [];
  for (let id = 0; id < logits.length; id++) {
    const weight = Math.exp((logits[id]! - best) / temperature);
    if (logits[id]! < lowest) continue;
    ids.push(id);
    weights.push(weight);
  }
  // The most likely token has the weight 1. As in transformers, `minP` takes nothing from what `topP` adds up.
  const least = Math.max(minP, topP < 1 ? leastWeight(weights, topP) : 0);
  if (least > 0) {
    ids = ids.filter((_, i) => weights[i]! >= least);
    weights = weights.filter((weight) => weight >= least);
  }
  return { ids, weights };
}

/** The `n` largest so far are kept in order: after the first few, hardly any value is among them. */
function nthLargest(values: Float32Array, n: number): number {
  const largest = new Float32Array(n).fill(-Infinity);
  for (const value of values) {
    if (!(value > largest[n - 1]!)) continue;
    let [low, high] = [0, n - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (largest[middle]! >= value) low = middle + 1;
      else high = middle;
    }
    largest.copyWithin(low + 1, low, n - 1);
    largest[low] = value;
  }
  return largest[n - 1]!;
}

/** The smallest of the largest weights that together are more than `topP` of all: of the others, none is needed. */
function leastWeight(weights: readonly number[], topP: number): number {
  const spare = weights.reduce((sum, weight) => sum + weight, 0) * (1 - topP);
  // All below this together are less than what may be left out, so only the others must be sorted.
  const negligible = spare / weights.length;
  const sorted = Float64Array.from(weights.filter((weight) => weight >= negligible)).sort();
  let left = weights.reduce((sum, weight) => (weight < negligible ? sum + weight : sum), 0);
  for (const weight of sorted) {
    left += weight;
    if (left > spare) return weight;
  }
  return sorted.at(-1)!;
}
