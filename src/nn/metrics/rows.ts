// What metrics share that keep the rows of a whole evaluation.
import { is } from "../../core/options.ts";

/** Options of metrics that keep the rows of a whole evaluation. */
export interface RowOptions {
  /** The most rows that an evaluation may have (default 10 million): each takes about 4 bytes for each number. */
  readonly maxRows?: number;
}

export const MAX_ROWS = 10_000_000;

export const ROW_CHECKS = { maxRows: is.wholeFrom(1) };
