// What generation computes on the engine: a prompt goes into one row of a cache, all rows get their next token, and rows
// move to a cache of another size. Made once for each model, so that each is compiled once for each size.
import { numpy as np } from "@jax-js/jax";
import type { ComputeFn } from "../../core/inspection.ts";
import type { Tensor, Tensors } from "../../core/model.ts";
import type { LanguageModel } from "../model/language-model.ts";
import type { KeyValues } from "../model/key-values.ts";

/**
 * Each takes a cache and gives the next one: `0.k`, `0.v`, `1.k`, … [rows, heads, capacity, size] with the last pass's
 * `logits` [rows, vocabulary] and `next` [rows], the most likely ids.
 */
export interface GenerationPrograms {
  /** With `{ row [1], ids [1, time], start [1], last [1] }`: `ids` into a row; what follows is of `ids[last]`. */
  readonly prefill: ComputeFn;
  /** With `{ ids [rows, 1], starts [rows] }`: one token for each row. */
  readonly step: ComputeFn;
  /** With `{ rows }`: these rows of the cache, in one of another capacity. */
  resized(capacity: number): ComputeFn;
}

const made = new WeakMap<LanguageModel, GenerationPrograms>();

export function programsOf(model: LanguageModel): GenerationPrograms {
  const known = made.get(model) ?? makePrograms(model);
  made.set(model, known);
  return known;
}

function makePrograms(model: LanguageModel): GenerationPrograms {
  const layers = model.architecture.layers.length;
  const keyValuesIn = (cache: Tensors): KeyValues[] =>
    Array.from({ length: layers }, (_, i) => ({ k: cache[`${i}.k`]!, v: cache[`${i}.v`]! }));
  const named = (keyValues: readonly KeyValues[]): Tensors =>
    Object.fromEntries(keyValues.flatMap(({ k, v }, i) => [[`${i}.k`, k] as const, [`${i}.v`, v] as const]));
  /** [rows, vocabulary] and [rows] of hidden states [rows, width]. */
  const answers = (params: Tensors, hidden: Tensor): { next: Tensor; logits: Tensor } => {
    const logits = model.logits(params, hidden);
    return { next: np.argmax(logits.ref, -1).astype(np.int32), logits };
  };

  const prefill: ComputeFn = (params, cache, { row, ids, start, last }) => {
    const width = model.architecture.width;
    const rows = cache.next!.shape[0]!;
    const before = keyValuesIn(cache);
    const own = before.map(({ k, v }) => ({ k: np.take(k.ref, row!.ref, 0), v: np.take(v.ref, row!.ref, 0) }));
    const time = ids!.shape[1]!;
    const pass = model.decode(params, ids!, { keyValues: own, starts: start! });
    const found = answers(params, np.take(pass.hidden.reshape([time, width]), last!, 0));
    const isRow = np.arange(rows).astype(np.int32).equal(row!);
    const put = (now: Tensor, all: Tensor): Tensor =>
      np.where(isRow.ref.reshape([rows, ...all.shape.slice(1).map(() => 1)]), now, all);
    const after = pass.cache.map(({ k, v }, i) => ({ k: put(k, before[i]!.k), v: put(v, before[i]!.v) }));
    const result = { ...named(after), next: put(found.next, cache.next!), logits: put(found.logits, cache.logits!) };
    isRow.dispose();
    return result;
  };

  const step: ComputeFn = (params, cache, { ids, starts }) => {
    const [rows, width] = [ids!.shape[0]!, model.architecture.width];
    const pass = model.decode(params, ids!, { keyValues: keyValuesIn(cache), starts: starts! });
    for (const old of [cache.next!, cache.logits!]) old.dispose();
    return { ...named(pass.cache), ...answers(params, pass.hidden.reshape([rows, width])) };
  };

  const sizes = new Map<number, ComputeFn>();
  const resized = (capacity: number): ComputeFn => {
    const known = sizes.get(capacity) ?? toCapacity(capacity);
    sizes.set(capacity, known);
    return known;
  };
  return { prefill, step, resized };
}

const toCapacity =
  (capacity: number): ComputeFn =>
  (_, cache, { rows }) => {
    const parts = Object.entries(cache).map(([name, x]) => {
      const chosen = np.take(x, rows!.ref, 0);
      if (chosen.ndim !== 4 || chosen.shape[2] === capacity) return [name, chosen] as const;
      const [count, heads, before, size] = chosen.shape as [number, number, number, number];
      // A smaller capacity is only asked for where the last slots are unused.
      if (before > capacity) return [name, np.split(chosen, [capacity], 2)[0]!] as const;
      return [name, np.concatenate([chosen, np.zeros([count, heads, capacity - before, size])], 2)] as const;
    });
    rows!.dispose();
    return Object.fromEntries(parts);
  };
