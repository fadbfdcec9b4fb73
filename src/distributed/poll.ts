// Waits for something that must be asked again and again: at first without leaving the call, then between turns of the
// event loop, so that signals and timers live, and never longer than allowed.
import type { MaybePromise } from "../core/model.ts";
import type { LibMpi } from "./libmpi.ts";

/** What comes within this time is had without a promise. It is also how long signals and timers may have to wait. */
const SPIN_MS = 10;
/** From here on the wait is for another rank's work, not for the network: sleep between looks, and leave it the core. */
const PATIENT_MS = 1000;
const SLEEP_MS = 1;
/** A look costs a fraction of a microsecond, asking for the time a little more. */
const LOOKS = 32;
/** A wait is long after this, or after half of what is allowed. */
const LONG_MS = 5000;

export interface Wait {
  done(): boolean;
  /** Milliseconds. */
  readonly limit: number;
  /** Milliseconds from the limit to its error. */
  readonly grace: number;
  /** The wait has become a long one. Called once. */
  long(): void;
  /** The limit has passed: what to throw. */
  overdue(): Error;
}

export function wait({ done, limit, grace, long, overdue }: Wait): MaybePromise<void> {
  const began = performance.now();
  const waited = (): number => performance.now() - began;
  const look = (): boolean => {
    for (let i = 0; i < LOOKS; i++) if (done()) return true;
    return false;
  };
  do if (look()) return undefined;
  while (waited() < SPIN_MS);
  return new Promise((resolve, reject) => {
    let longAt = Math.min(LONG_MS, limit / 2);
    const turn = (): void => {
      try {
        if (look()) return resolve();
        const now = waited();
        if (now >= longAt) {
          longAt = Infinity;
          long();
        }
        if (now >= limit + grace) return reject(overdue());
        if (now < PATIENT_MS) setImmediate(turn);
        else setTimeout(turn, SLEEP_MS);
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(turn);
  });
}

// Who is there when a wait grows long: a rank that waits tells the others for what, so that an error can name who does not.

/** hookline sends nothing else from rank to rank. */
const TAG = 1;
/** In place of an operation: the rank has failed, and waits for nothing any more. */
export const FAILED = -1;

export class RollCall {
  readonly #mpi: LibMpi;
  readonly #rank: number;
  readonly #size: number;
  /** Sent from where it lies: a newer number in place of one that is still under way is as true. */
  readonly #sent: Float64Array;
  readonly #received = new Float64Array(2);
  readonly #flag = new Int32Array(1);
  /** By rank: the operation for which it was last heard to wait. */
  readonly #heard = new Map<number, number>();

  constructor(mpi: LibMpi, rank: number, size: number) {
    this.#mpi = mpi;
    this.#rank = rank;
    this.#size = size;
    this.#sent = new Float64Array([rank, 0]);
  }

  /** This rank waits for the others in operation `nth`. */
  tell(nth: number): void {
    const { abi, MPI_Isend: send, MPI_Request_free: free } = this.#mpi;
    const request = new BigUint64Array(1);
    this.#sent[1] = nth;
    for (let to = 0; to < this.#size; to++) {
      if (to === this.#rank) continue;
      send(this.#sent, 2, abi.types.float64, to, TAG, abi.world, request);
      free(request);
    }
    this.listen();
  }

  /** What a rank has said last: the operation that it waits in, or FAILED. */
  heardFrom(rank: number): number | undefined {
    this.listen();
    return this.#heard.get(rank);
  }

  /** The ranks that have not said that they wait in operation `nth`. */
  missing(nth: number): number[] {
    this.listen();
    const others = Array.from({ length: this.#size }, (_, rank) => rank).filter((rank) => rank !== this.#rank);
    return others.filter((rank) => this.#heard.get(rank) !== nth);
  }

  /** Takes what has come. */
  listen(): void {
    const { abi, MPI_Iprobe: probe, MPI_Recv: receive } = this.#mpi;
    const [rank, nth] = [0, 1];
    for (;;) {
      probe(abi.anySource, TAG, abi.world, this.#flag, abi.ignoreStatus);
      if (this.#flag[0] === 0) return;
      receive(this.#received, 2, abi.types.float64, abi.anySource, TAG, abi.world, abi.ignoreStatus);
      this.#heard.set(this.#received[rank]!, this.#received[nth]!);
    }
  }
}
