// The options of `readExamples`, which the data `examples` of a config takes too.
import { is } from "../../../core/options.ts";
import type { TooLong } from "./fit.ts";
import type { Counting } from "./turns.ts";

/** How examples become rows, in a program and in a config. */
export interface RowOptions {
  /** Tokens in a row. Default 512, or the model's context if that is shorter. */
  readonly length?: number;
  /** Which labels count: those of every answer, of the last answer, or all. Default "assistant". */
  readonly loss?: Counting;
  /** Several examples in a row. Default true; preferences are never packed. */
  readonly pack?: boolean;
  /** For examples that are longer than a row. Default "cut"; for `text`, "split", which continues them in further rows. */
  readonly tooLong?: TooLong;
  /** The share of the lines that is kept for validation, such as 0.05. Default 0. */
  readonly val?: number;
  /** For the choice of the validation lines. Default 0. */
  readonly seed?: number;
  /** A chat template in place of the model's own. */
  readonly template?: string;
}

export const EXAMPLES_CHECKS = {
  length: is.wholeFrom(2),
  loss: is.oneOf("assistant", "last", "all"),
  pack: is.boolean,
  tooLong: is.oneOf("error", "drop", "cut", "split"),
  val: is.fraction,
  seed: is.wholeFrom(0),
  template: is.name,
};

/** Options of `readExamples`. */
export interface ReadExamplesOptions extends RowOptions {
  /** Called as lines are read. */
  readonly onProgress?: (progress: ReadProgress) => void;
}

/** How far a file has been read. */
export interface ReadProgress {
  readonly lines: number;
  readonly examples: number;
  readonly tokens: number;
}
