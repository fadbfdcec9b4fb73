// Waits for something that must be asked again and again: at first without leaving the call, then between turns of the
// event loop, so that signals and timers live, and never longer than allowed.
import type { MaybePromise } from "../core/model.ts";

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
