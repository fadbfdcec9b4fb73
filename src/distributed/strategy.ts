// The strategy seam: how many processes train together, which one this is, and how they agree.
import type { MaybePromise } from "../core/model.ts";
import { OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { builtin, builtinOrNone } from "../platform/builtin.ts";
import { launchedSize } from "./environment.ts";

export type ReduceOp = "sum" | "min" | "max";

/** A vector of each rank, which are added up. */
export interface SummedVector {
  /** This rank's numbers, to be written before each sum. */
  readonly own: Float32Array;
  /** Multiplies this rank's numbers from one place to another. */
  scale(factor: number, from: number, to: number): void;
  /** What the first `length` numbers of all ranks add up to. It is there until this rank's next sum, and only to be read. */
  sum(length: number, scaling: Scaling): MaybePromise<Float32Array>;
}

/** Sums from `from` on are multiplied by a number that follows from the sum at `at`. */
export interface Scaling {
  readonly at: number;
  readonly from: number;
  /** 1 leaves them as they are. */
  factor(sum: number): number;
}

/**
 * How processes that train together hear each other: for the trainer's `strategy`. A rank runs one operation at a time:
 * each has ended before the next one begins.
 */
export interface Strategy {
  readonly name: string;
  /** This process, from 0; 0 is the main one. */
  readonly rank: number;
  readonly size: number;
  /** Combines the vectors of all ranks, in place. Every rank must call it with the same length, in the same order of calls. */
  allReduce(values: Float32Array | Float64Array, op?: ReduceOp): MaybePromise<void>;
  /**
   * Memory for vectors of at most so many numbers that are added up often: `sum` then moves less than `allReduce`. Every
   * rank must ask with the same number. Undefined where there is no such memory, such as between hosts; absent where a
   * strategy has none.
   */
  vector?(capacity: number): MaybePromise<SummedVector | undefined>;
  /** Fills `bytes` with what rank 0 has there. */
  broadcast(bytes: Uint8Array): MaybePromise<void>;
  /** Returns when all ranks have come to it. */
  barrier(): MaybePromise<void>;
  /** The main rank has failed: tells the others that `abort` follows when it has saved what it can. */
  announceFailure?(): void;
  /** Has the main rank announced its failure? */
  mainHasFailed?(): boolean;
  /** This rank has failed: ends all of them. */
  abort(exitCode: number): void;
  close(): MaybePromise<void>;
}

/** One process alone. */
export const single: Strategy = {
  name: "single",
  rank: 0,
  size: 1,
  allReduce: () => undefined,
  broadcast: () => undefined,
  barrier: () => undefined,
  abort: () => undefined,
  close: () => undefined,
};

// Which strategy a run has: by name, or as the launcher that started this process says.

const STRATEGY_NAMES = ["auto", "single", "mpi"] as const;
export type StrategyName = (typeof STRATEGY_NAMES)[number];

export interface StrategyOptions {
  /** Seconds that a rank waits for the others before all end. Default: HOOKLINE_MPI_TIMEOUT, else 600. */
  readonly timeout?: number;
}

export function checkStrategy(strategy: unknown): void {
  if (typeof strategy === "object" && strategy !== null && typeof (strategy as Strategy).allReduce === "function")
    return;
  if (typeof strategy === "string" && (STRATEGY_NAMES as readonly string[]).includes(strategy)) return;
  const hint = typeof strategy === "string" ? didYouMean(strategy, STRATEGY_NAMES) : "";
  throw new OptionError(
    `Trainer: Expected \`strategy\` to be ${STRATEGY_NAMES.map((n) => `"${n}"`).join(", ")} or a Strategy, got ${show(strategy)}.${hint}`,
    { option: "strategy" },
  );
}

/** With "auto", processes of a launcher that cannot find each other are an error: each would train the whole, alone. */
export async function openStrategy(choice: StrategyName | Strategy, options: StrategyOptions = {}): Promise<Strategy> {
  if (typeof choice === "object") return choice;
  if (choice === "single" || (choice === "auto" && !startedByLauncher())) return single;
  builtin('Strategy "mpi"', "node:process");
  // Only for Node: package.json ("browser") leaves it out of browsers' bundles.
  const { openMpi } = await import("./mpi.ts");
  return openMpi(options);
}

function startedByLauncher(): boolean {
  const process = builtinOrNone("node:process");
  return process !== undefined && (launchedSize(process.env, process.pid) ?? 1) > 1;
}
