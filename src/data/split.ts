// Splits arrays at random, for example into training and validation data.
import { OptionError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { permutation } from "./random.ts";
import { gather, toRows } from "./indexed.ts";
import type { Arrays } from "./source.ts";

/**
 * Splits arrays by field into random parts: fractions that add up to 1, at least one sample each.
 * @example const [train, val] = split({ x, y }, [0.9, 0.1]);
 */
export function split<const F extends readonly number[]>(
  data: Arrays,
  fractions: F,
  seed = 0,
): { -readonly [K in keyof F]: HostBatch } {
  const sum = fractions.reduce((total, fraction) => total + fraction, 0);
  if (fractions.some((fraction) => !(fraction > 0)) || Math.abs(sum - 1) > 1e-9) {
    throw new OptionError(`split: Expected fractions > 0 that add up to 1, got [${fractions.join(", ")}]`);
  }
  const rows = toRows("split", data);
  const order = permutation(rows.count, seed, 0);
  let done = 0;
  let from = 0;
  const parts = fractions.map((fraction) => {
    done += fraction;
    const to = Math.round(rows.count * done);
    if (to === from) throw new OptionError(`split: a part of ${fraction} of ${rows.count} samples has none.`);
    const part = gather(rows, order, from, to);
    from = to;
    return part;
  });
  return parts as { -readonly [K in keyof F]: HostBatch };
}
