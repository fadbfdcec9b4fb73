// When what was logged is handed to the system: after a while, and soon while a page shows the run.
import { builtinOrNone } from "../../platform/builtin.ts";

/** Touched every five seconds by a page's server. */
const FILE = "control/watch";
const VALID_MS = 15_000;
const LOOK_MS = 250;
/** Until what somebody waits for is flushed. */
export const SOON_MS = 250;
/** A timer takes a longer delay for none at all. */
const LONGEST_MS = 2 ** 31 - 1;

export class Watched {
  #file: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the next flush comes; Infinity without one. */
  at = Infinity;
  isWatched = false;
  nextLook = 0;

  /** @param dir the run's directory; given once, when the run begins */
  look(now: number, dir?: string): void {
    if (dir !== undefined) this.#file = `${dir}/${FILE}`;
    this.nextLook = now + LOOK_MS;
    const found =
      this.#file === undefined ? undefined : builtinOrNone("node:fs")?.lstatSync(this.#file, { throwIfNoEntry: false });
    this.isWatched = found !== undefined && Date.now() - found.mtimeMs < VALID_MS;
  }

  /** Flushes at a time, or sooner if that was asked for already: also if the next log is far away. */
  flushAt(at: number, now: number, flush: () => Promise<void>): void {
    if (at >= this.at || at - now > LONGEST_MS) return;
    this.flushed();
    this.at = at;
    this.#timer = setTimeout(
      () => {
        this.at = Infinity;
        void flush();
      },
      Math.max(0, at - now),
    );
    // A browser's timer is a number.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Nothing waits any more. */
  flushed(): void {
    clearTimeout(this.#timer);
    this.at = Infinity;
  }
}
