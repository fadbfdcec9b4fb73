// Splits arrays and tables at random, for example into training and validation data.
import { OptionError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { permutation } from "./random.ts";
import { gather, toRows } from "./indexed.ts";
import type { Arrays } from "./source.ts";
import { Table } from "./table/table.ts";

type Parts<F extends readonly number[], P> = { -readonly [K in keyof F]: P };

/**
 * Splits a table, or arrays by field, into random parts: fractions that add up to 1, at least one sample each.
 * @example const [train, val] = split({ x, y }, [0.9, 0.1]);
 */
export function split<const F extends readonly number[]>(data: Table, fractions: F, seed?: number): Parts<F, Table>;
export function split<const F extends readonly number[]>(
  data: Arrays,
  fractions: F,
  seed?: number,
): Parts<F, HostBatch>;
export function split(data: Table | Arrays, fractions: readonly number[], seed = 0): readonly (Table | HostBatch)[] {
  const sum = fractions.reduce((total, fraction) => total + fraction, 0);
  if (fractions.some((fraction) => !(fraction > 0)) || Math.abs(sum - 1) > 1e-9) {
    throw new OptionError(`split: Expected fractions > 0 that add up to 1, got [${fractions.join(", ")}]`);
  }
  const rows = data instanceof Table ? undefined : toRows("split", data);
  const count = rows?.count ?? (data as Table).rowCount;
  const order = permutation(count, seed, 0);
  let done = 0;
  let from = 0;
  return fractions.map((fraction) => {
    done += fraction;
    const to = Math.round(count * done);
    if (to === from) throw new OptionError(`split: a part of ${fraction} of ${count} samples has none.`);
    const part = rows ? gather(rows, order, from, to) : (data as Table).take(order.subarray(from, to));
    from = to;
    return part;
  });
}
