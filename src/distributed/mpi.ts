// Many processes as one, through MPI: every operation is begun at once and then polled, so that none can hang a rank.
import { DistributedError, OptionError } from "../core/errors.ts";
import type { MaybePromise } from "../core/loader.ts";
import { checkOptions, is, show } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";
import type { Environment } from "./environment.ts";
import { wait } from "./pending.ts";
import { FAILED } from "./roll-call.ts";
import type { StrategyOptions } from "./select.ts";
import type { ReduceOp, Strategy } from "./strategy.ts";
import { theWorld, type World } from "./world.ts";

const TIMEOUT_VARIABLE = "HOOKLINE_MPI_TIMEOUT";
const DEFAULT_TIMEOUT = 600;
/** MPI counts with ints of 32 bits. */
const MOST_AT_ONCE = 2 ** 30;

/** Joins the processes that were started together. However often it is called, MPI itself is begun once. */
export async function openMpi(options: StrategyOptions = {}): Promise<Strategy> {
  checkOptions("openMpi", options, { timeout: is.positive });
  const timeout = timeoutOf(options.timeout);
  return new MpiStrategy(theWorld(timeout), timeout);
}

class MpiStrategy implements Strategy {
  readonly name = "mpi";
  readonly rank: number;
  readonly size: number;
  readonly #world: World;
  /** Seconds. */
  readonly #timeout: number;

  constructor(world: World, timeout: number) {
    this.rank = world.rank;
    this.size = world.size;
    this.#world = world;
    this.#timeout = timeout;
  }

  allReduce(values: Float32Array | Float64Array, op: ReduceOp = "sum"): MaybePromise<void> {
    const { mpi } = this.#world;
    const { inPlace, types, ops, world } = mpi.abi;
    const type = values instanceof Float32Array ? types.float32 : types.float64;
    return this.#run(
      values,
      () => `allReduce (${op} of ${count(values.length, "number")})`,
      (request) => mpi.MPI_Iallreduce(inPlace, values, values.length, type, ops[op], world, request),
    );
  }

  broadcast(bytes: Uint8Array): MaybePromise<void> {
    const { mpi } = this.#world;
    const { types, world } = mpi.abi;
    const send = (from: number): MaybePromise<void> => {
      const part = bytes.subarray(from, from + MOST_AT_ONCE);
      const sent = this.#run(
        part,
        () => `broadcast (of ${count(bytes.length, "byte")})`,
        (request) => mpi.MPI_Ibcast(part, part.length, types.byte, 0, world, request),
      );
      if (from + MOST_AT_ONCE >= bytes.length) return sent;
      return Promise.resolve(sent).then(() => send(from + MOST_AT_ONCE));
    };
    return send(0);
  }

  barrier(): MaybePromise<void> {
    const { mpi } = this.#world;
    return this.#run(
      undefined,
      () => "barrier",
      (request) => mpi.MPI_Ibarrier(mpi.abi.world, request),
    );
  }

  announceFailure(): void {
    this.#world.rollCall.tell(FAILED);
  }

  mainHasFailed(): boolean {
    return this.#world.rollCall.heardFrom(0) === FAILED;
  }

  abort(exitCode: number): void {
    this.#world.abort(exitCode);
  }

  /** MPI itself ends with the process: another trainer may use it, now or later. */
  close(): void {}

  #run(
    memory: ArrayBufferView | undefined,
    what: () => string,
    begin: (request: BigUint64Array) => number,
  ): MaybePromise<void> {
    const world = this.#world;
    const { nth, done } = world.begin(memory, what, begin);
    return wait({
      done,
      limit: this.#timeout * 1000,
      grace: graceOf(world.rank),
      long: () => world.rollCall.tell(nth),
      overdue: () => {
        setTimeout(() => world.abort(1), LAST_WORDS_MS).unref();
        return world.fail(new DistributedError(this.#overdue(what(), world.rollCall.missing(nth))));
      },
    });
  }

  #overdue(what: string, missing: readonly number[]): string {
    const who =
      missing.length === 0
        ? "all ranks have come to it, so they differ in what they reduce, or the network between them is cut"
        : `${rankList(missing)} of ${this.size} ${missing.length === 1 ? "has" : "have"} not come to it: look there for what hangs, or takes long`;
    return `Rank ${this.rank} has waited ${this.#timeout} s for the ${what}; ${who}. ${TIMEOUT_VARIABLE} allows more seconds. All ranks end now.`;
  }
}

/** All that wait would say the same at the same moment: the first that does ends the others before their turn. */
const graceOf = (rank: number): number => Math.min(rank, 2) * 2000;

/** How long a program may take to end by itself after the error, before it is ended: a hook may hang too. */
const LAST_WORDS_MS = 30_000;

const rankList = (ranks: readonly number[]): string => `rank${ranks.length === 1 ? "" : "s"} ${ranks.join(", ")}`;

const count = (n: number, unit: string): string => `${n.toLocaleString("en")} ${unit}${n === 1 ? "" : "s"}`;

function timeoutOf(option: number | undefined): number {
  if (option !== undefined) return option;
  const { env } = builtin<{ env: Environment }>(`Strategy "mpi"`, "node:process");
  const given = env[TIMEOUT_VARIABLE];
  if (given === undefined || given === "") return DEFAULT_TIMEOUT;
  const seconds = Number(given);
  if (seconds > 0) return seconds;
  throw new OptionError(`${TIMEOUT_VARIABLE}: Expected a number of seconds > 0, got ${show(given)}`);
}
