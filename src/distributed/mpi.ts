// Many processes as one, through MPI: every operation is begun at once and then polled, so that none can hang a rank.
import { DistributedError, OptionError } from "../core/errors.ts";
import type { MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import { checkOptions, is, show } from "../core/options.ts";
import { type Builtin, builtin } from "../platform/builtin.ts";
import { FAILURE_FILE, RANK_PROCESS, launchedSize } from "./environment.ts";
import { FAILED, RollCall, wait } from "./poll.ts";
import { type Combine, type SharedMemory, shareMemory } from "./shared-memory.ts";
import type { ReduceOp, Scaling, Strategy, StrategyOptions, SummedVector } from "./strategy.ts";
import { printFailure } from "../platform/print.ts";
import { type LibMpi, loadKoffi, loadLibMpi } from "./libmpi.ts";
import { startWorkerThread } from "../platform/thread.ts";

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

  vector(capacity: number): MaybePromise<SummedVector | undefined> {
    return chain(this.#world.sharedMemory(this, capacity), (memory) => {
      if (!memory) return undefined;
      const { own } = memory;
      return {
        own,
        scale: (factor, from, to) => memory.scale(own.subarray(from, to), factor, this.#world.combine),
        sum: (length, scaling) => this.#sum(memory, length, scaling),
      };
    });
  }

  #sum(memory: SharedMemory, length: number, scaling: Scaling): MaybePromise<Float32Array> {
    const world = this.#world;
    const what = (): string => `sum (of ${count(length, "number")})`;
    const { nth, done, end } = world.meet(memory, length);
    return chain(this.#wait(what, nth, done), () => {
      memory.addPart(length, scaling, world.combine);
      memory.come();
      return chain(this.#wait(what, nth, done), () => {
        end();
        return memory.total.subarray(0, length);
      });
    });
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
    const { nth, done } = this.#world.begin(memory, what, begin);
    return this.#wait(what, nth, done);
  }

  #wait(what: () => string, nth: number, done: () => boolean): MaybePromise<void> {
    const world = this.#world;
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
  const { env } = builtin(`Strategy "mpi"`, "node:process");
  const given = env[TIMEOUT_VARIABLE];
  if (given === undefined || given === "") return DEFAULT_TIMEOUT;
  const seconds = Number(given);
  if (seconds > 0) return seconds;
  throw new OptionError(`${TIMEOUT_VARIABLE}: Expected a number of seconds > 0, got ${show(given)}`);
}

// MPI of this process: begun once, used by every strategy that is opened, ended with the process.

/** Something that all ranks do together, and that has begun. */
interface Operation {
  /** Which one it is, from 1: the same number on all ranks. */
  readonly nth: number;
  /** Asks MPI, which works on it while it is asked. */
  done(): boolean;
}

let joined: World | undefined;

/** Joins the others when it is called first, and waits `limit` seconds for them. */
function theWorld(limit: number): World {
  joined ??= join(loadLibMpi(), limit);
  return joined;
}

function join(mpi: LibMpi, limit: number): World {
  const process = builtin(`Strategy "mpi"`, "node:process");
  const launched = launchedSize(process.env, process.pid);
  const { world, serialized, errorsReturn } = mpi.abi;
  const out = new Int32Array(1);
  const ask = (call: (comm: number, out: Int32Array) => number): number => {
    call(world, out);
    return out[0]!;
  };
  const unwatch = launched !== undefined && launched > 1 ? watchJoining(launched, limit) : undefined;
  const failed = mpi.MPI_Init_thread(0, 0, serialized, out);
  unwatch?.();
  if (failed !== 0) throw new DistributedError(`MPI could not begin (error ${failed}); what it printed says why.`);
  mpi.MPI_Comm_set_errhandler(world, errorsReturn);
  const made = new World(mpi, ask(mpi.MPI_Comm_rank), ask(mpi.MPI_Comm_size));
  endWith(process, made);
  checkSize(made.size, launched, mpi.abi.name);
  process.env[RANK_PROCESS] = String(process.pid);
  return made;
}

/** Node shows an uncaught error after its exit event, when an abort has left nothing to show it: then it is shown here. */
function endWith(process: Builtin<"node:process">, world: World): void {
  let uncaught: { readonly error: unknown } | undefined;
  process.on("uncaughtExceptionMonitor", (error) => {
    if (process.listenerCount("uncaughtException") === 0) uncaught = { error };
  });
  process.on("exit", (code) => {
    if (uncaught) {
      const { inspect } = builtin(`Strategy "mpi"`, "node:util");
      printFailure(`Uncaught on rank ${world.rank} of ${world.size}: ${inspect(uncaught.error)}`);
    }
    world.leave(code);
  });
}

/** What ranks but the first wait before they abort where all have found the same fault: until then it has ended them. */
const AFTER_FIRST_MS = 3000;

/** Shown in place of a length by a rank that does something else. */
const THROUGH_MPI = -1;

class World {
  readonly mpi: LibMpi;
  readonly rank: number;
  readonly size: number;
  readonly rollCall: RollCall;
  readonly combine: Combine;
  readonly #flag = new Int32Array(1);
  /** MPI reads and writes their memory, which must stay until they are over. */
  readonly #inFlight = new Map<Operation, ArrayBufferLike | undefined>();
  #begun = 0;
  #shared: SharedMemory | undefined;
  #sharesNone = false;
  #failure: Error | undefined;
  /** Have the other ranks found it as well? */
  #failedAlike = false;

  constructor(mpi: LibMpi, rank: number, size: number) {
    this.mpi = mpi;
    this.rank = rank;
    this.size = size;
    this.rollCall = new RollCall(mpi, rank, size);
    const { types, ops } = mpi.abi;
    this.combine = (op, from, into) => void mpi.MPI_Reduce_local(from, into, from.length, types.float32, ops[op]);
  }

  begin(memory: ArrayBufferView | undefined, what: () => string, call: (request: BigUint64Array) => number): Operation {
    const nth = this.#count(THROUGH_MPI);
    const { MPI_Test: test, abi } = this.mpi;
    const flag = this.#flag;
    const request = new BigUint64Array(1);
    // Small arrays lie in the heap, where they move, until their buffer is asked for.
    const buffer = memory?.buffer;
    const operation: Operation = {
      nth,
      done: () => {
        this.#check(test(request, flag, abi.ignoreStatus), what);
        if (flag[0] === 0) return false;
        this.#inFlight.delete(operation);
        return true;
      },
    };
    this.#check(call(request), what);
    this.#inFlight.set(operation, buffer);
    return operation;
  }

  #count(kind: number): number {
    if (this.#failure) throw this.#failure;
    const nth = ++this.#begun;
    this.#shared?.show(nth, kind);
    return nth;
  }

  /** Undefined where the ranks share none; then it is not asked for again. */
  sharedMemory(strategy: Strategy, capacity: number): MaybePromise<SharedMemory | undefined> {
    const has = this.#shared?.capacity ?? 0;
    if (capacity <= has || this.#sharesNone) return this.#shared;
    // Doubling bounds what replaced memories take.
    return shareMemory(strategy, loadKoffi(), Math.max(capacity, 2 * has)).then((memory) => {
      this.#sharesNone = memory === undefined;
      return (this.#shared = memory);
    });
  }

  /** Comes to the first of the two meetings at which vectors of so many numbers are added up. */
  meet(memory: SharedMemory, length: number): Operation & { end(): void } {
    const operation = {
      nth: this.#count(length),
      done: () => {
        if (memory.haveAllCome((rank) => this.fail(this.#unlike(length, rank)))) return true;
        // MPI advances earlier operations only when it is called; the call also yields the core if Open MPI is set to.
        this.rollCall.listen();
        return false;
      },
      end: () => void this.#inFlight.delete(operation),
    };
    this.#inFlight.set(operation, undefined);
    memory.come();
    return operation;
  }

  /** From here on nothing begins any more: what the others are doing nobody knows. */
  fail<E extends Error>(error: E): E {
    this.#failure ??= error;
    return error;
  }

  abort(exitCode: number): void {
    noteFailure(exitCode);
    this.mpi.MPI_Abort(this.mpi.abi.world, exitCode);
  }

  /**
   * At the process's end. A rank that has failed, or leaves while the others count on it, ends them all; one that ends
   * as it should, or was interrupted as they were, waits in here until all do.
   */
  leave(code: number): void {
    const interrupted = code >= 128;
    const asItShould = (code === 0 || interrupted) && this.#failure === undefined && this.#inFlight.size === 0;
    if (asItShould) this.mpi.MPI_Finalize();
    else {
      // Open MPI's launcher may hang, or end by a signal, when several ranks abort at the same moment.
      if (this.#failedAlike && this.rank > 0) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_FIRST_MS + 500 * this.rank);
      }
      this.abort(code || 1);
    }
  }

  #unlike(length: number, other: number): DistributedError {
    this.#failedAlike = true;
    const mine = `Rank ${this.rank} adds up ${count(length, "number")} with the others, and rank ${other} does something else`;
    return new DistributedError(`${mine}: ${UNLIKE}`);
  }

  #check(code: number, what: () => string): void {
    if (code === 0) return;
    const text = new Uint8Array(1024);
    const length = new Int32Array(1);
    this.mpi.MPI_Error_string(code, text, length);
    const said = new TextDecoder().decode(text.subarray(0, length[0]));
    const hint = said.includes("TRUNCATE") ? ` The ranks sent different amounts: ${UNLIKE}` : "";
    throw this.fail(new DistributedError(`MPI could not do the ${what()} on rank ${this.rank}: ${said}.${hint}`));
  }
}

/** For `hookline launch`, on the host where it runs: Open MPI's launcher may lose the exit code. The first rank's counts. */
function noteFailure(exitCode: number): void {
  const file = builtin(`Strategy "mpi"`, "node:process").env[FAILURE_FILE];
  try {
    if (file) builtin(`Strategy "mpi"`, "node:fs").writeFileSync(file, String(exitCode), { flag: "wx" });
  } catch {
    // Another host, or another rank was first.
  }
}

const UNLIKE = "one of them has another number of batches, or makes other calls of the trainer.";

function checkSize(size: number, launched: number | undefined, library: string): void {
  if (launched === undefined || launched === size) return;
  throw new DistributedError(
    `The launcher started ${launched} processes, but ${library}'s library sees ${size}. Launcher and library must be of the same MPI: use Open MPI's mpirun, or \`srun --mpi=pmix\`.`,
  );
}

// Ends a process that waits in MPI_Init for others that never come: that call returns to nobody, so a thread watches it.

export interface JoinWatch {
  /** Seconds. */
  readonly limit: number;
  readonly message: string;
}

/** Returns what ends the watch. */
function watchJoining(size: number, limit: number): () => void {
  const message = `error: this process has waited ${limit} s for all ${size} to come to MPI. One of them hangs before it, or does something long first; HOOKLINE_MPI_TIMEOUT allows more seconds. All end now.\n`;
  const watch: JoinWatch = { limit, message };
  const thread = startWorkerThread(import.meta.url, "join-watch-worker", watch);
  thread.unref();
  // Without the thread nobody watches, and the launcher's own limits hold.
  thread.on("error", () => undefined);
  return () => void thread.terminate();
}
