// What a number costs to compute again, beside storing it and loading it back.
import type { MapOp } from "../../lower/graph.ts";

const COSTS: Partial<Record<MapOp, number>> = {
  copy: 0,
  cast: 1,
  reciprocal: 3,
  sqrt: 3,
  idiv: 4,
  mod: 6,
  exp: 12,
  log: 18,
  sin: 18,
  cos: 18,
  asin: 18,
  atan: 18,
  erf: 30,
  erfc: 26,
};

export const costOf = (fn: MapOp): number => COSTS[fn] ?? 1;

/** Above this, a value that is wanted more than once is stored. */
export const STORE_ABOVE = 8;

/** Above this, a value is stored even if it is wanted once: what is made of it would become a kernel without end. */
export const MOST_IN_PLACE = 400;
