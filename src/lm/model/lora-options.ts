// Options of `lora`, which configs have too. Apart from its code, which a config does not need.
import { is } from "../../core/options.ts";

/** Options of `lora`. */
export interface LoraOptions {
  /** Rows of A and columns of B (default 16). */
  readonly rank?: number;
  /** The product counts alpha ÷ rank (default 2 · rank). */
  readonly alpha?: number;
  /** alpha ÷ √rank in its place, so that a large rank learns as fast (default false). */
  readonly rslora?: boolean;
  /** Trains the length of each row of a matrix apart from its direction (DoRA), which costs time (default false). */
  readonly dora?: boolean;
  /** The share of a matrix's inputs that the adapter does not see while training (default 0). */
  readonly dropout?: number;
  /**
   * Which matrices: `"all"` of every layer (default), those of `"attention"`, or the ends of their names, such as
   * `["q_proj", "v_proj"]`.
   */
  readonly targets?: "all" | "attention" | readonly string[];
  /** The last layers alone: how many. Default: all. */
  readonly layers?: number;
  /** Parameters that are trained whole, by the ends of their modules' names, such as `["lm_head"]`. */
  readonly also?: readonly string[];
}

export const LORA_CHECKS = {
  rank: is.wholeFrom(1),
  alpha: is.positive,
  rslora: is.boolean,
  dora: is.boolean,
  dropout: is.fraction,
  targets: is.or(is.oneOf("all", "attention"), is.arrayOf(is.name)),
  layers: is.wholeFrom(1),
  also: is.arrayOf(is.name),
};
