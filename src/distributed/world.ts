// MPI of this process: begun once, used by every strategy that is opened, ended with the process.
import { printFailure } from "../platform/print.ts";
import { DistributedError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import { launchedSize, RANK_PROCESS } from "./environment.ts";
import { watchJoining } from "./join-watch.ts";
import { loadLibMpi, type LibMpi } from "./libmpi.ts";
import { RollCall } from "./roll-call.ts";

interface NodeProcess {
  readonly env: Record<string, string | undefined>;
  readonly pid: number;
  on(event: "exit", handler: (code: number) => void): void;
  on(event: "uncaughtExceptionMonitor", handler: (error: unknown) => void): void;
  listenerCount(event: "uncaughtException"): number;
}

/** Something that all ranks do together, and that has begun. */
export interface Operation {
  /** Which one it is, from 1: the same number on all ranks. */
  readonly nth: number;
  /** Asks MPI, which works on it while it is asked. */
  done(): boolean;
}

let joined: World | undefined;

/** Joins the others when it is called first, and waits `limit` seconds for them. */
export function theWorld(limit: number): World {
  joined ??= join(loadLibMpi(), limit);
  return joined;
}

function join(mpi: LibMpi, limit: number): World {
  const process = builtin<NodeProcess>(`Strategy "mpi"`, "node:process");
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
function endWith(process: NodeProcess, world: World): void {
  let uncaught: { readonly error: unknown } | undefined;
  process.on("uncaughtExceptionMonitor", (error) => {
    if (process.listenerCount("uncaughtException") === 0) uncaught = { error };
  });
  process.on("exit", (code) => {
    if (uncaught) {
      const { inspect } = builtin<{ inspect(value: unknown): string }>(`Strategy "mpi"`, "node:util");
      printFailure(`Uncaught on rank ${world.rank} of ${world.size}: ${inspect(uncaught.error)}`);
    }
    world.leave(code);
  });
}

export class World {
  readonly mpi: LibMpi;
  readonly rank: number;
  readonly size: number;
  readonly rollCall: RollCall;
  readonly #flag = new Int32Array(1);
  /** MPI reads and writes their memory, which must stay until they are over. */
  readonly #inFlight = new Map<Operation, ArrayBufferLike | undefined>();
  #begun = 0;
  #failure: Error | undefined;

  constructor(mpi: LibMpi, rank: number, size: number) {
    this.mpi = mpi;
    this.rank = rank;
    this.size = size;
    this.rollCall = new RollCall(mpi, rank, size);
  }

  begin(memory: ArrayBufferView | undefined, what: () => string, call: (request: BigUint64Array) => number): Operation {
    if (this.#failure) throw this.#failure;
    const { MPI_Test: test, abi } = this.mpi;
    const flag = this.#flag;
    const request = new BigUint64Array(1);
    // Small arrays lie in the heap, where they move, until their buffer is asked for.
    const buffer = memory?.buffer;
    const operation: Operation = {
      nth: ++this.#begun,
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

  /** From here on nothing begins any more: what the others are doing nobody knows. */
  fail<E extends Error>(error: E): E {
    this.#failure ??= error;
    return error;
  }

  abort(exitCode: number): void {
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
    else this.abort(code || 1);
  }

  #check(code: number, what: () => string): void {
    if (code === 0) return;
    const text = new Uint8Array(1024);
    const length = new Int32Array(1);
    this.mpi.MPI_Error_string(code, text, length);
    const said = new TextDecoder().decode(text.subarray(0, length[0]));
    const hint = said.includes("TRUNCATE")
      ? " The ranks sent different amounts: one of them has another number of batches, or makes other calls of the trainer."
      : "";
    throw this.fail(new DistributedError(`MPI could not do the ${what()} on rank ${this.rank}: ${said}.${hint}`));
  }
}

function checkSize(size: number, launched: number | undefined, library: string): void {
  if (launched === undefined || launched === size) return;
  throw new DistributedError(
    `The launcher started ${launched} processes, but ${library}'s library sees ${size}. Launcher and library must be of the same MPI: use Open MPI's mpirun, or \`srun --mpi=pmix\`.`,
  );
}
