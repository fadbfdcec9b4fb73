// The options of `logger`, and their checks.
import type { Cadence } from "../../core/cadence.ts";
import { is, oneOrList, type Json } from "../../core/options.ts";

/** Options of `logger`. */
export interface LoggerOptions {
  readonly name?: string;
  /** When a record is written, whatever the trainer's `logEvery` says; what comes in between is kept for the next one. Default: whenever the trainer logs. */
  readonly every?: Cadence;
  /** Seconds after which buffered records are handed to the system. Default 2; also before each checkpoint. */
  readonly flushEvery?: number;
  /** Whether records state how many samples and tokens the run has trained on; `jsonl` writes them. Default true. */
  readonly data?: boolean;
  /** Put before every metric's name. */
  readonly prefix?: string;
  /** What the run is called. Default: the last part of `runDir`. */
  readonly run?: string;
  /** Values to be shown as hyperparameters, or the names of those to be taken; default: the trainer's plain options and the optimizers' rates. */
  readonly hparams?: Readonly<Record<string, Json>> | readonly string[];
}

export const loggerTakes = () => ({
  args: { backends: { ...is.anything, holds: oneOrList("logger") } },
  options: {
    name: is.name,
    every: is.cadence,
    flushEvery: is.nonNegative,
    data: is.boolean,
    prefix: is.string,
    run: is.name,
    hparams: is.or(is.arrayOf(is.name), is.object),
  },
});
