// Whether a page shows the run right now: then its records are flushed soon.
import { builtinOrNone } from "../../platform/builtin.ts";

/** Touched every five seconds by a page's server. */
const FILE = "control/watch";
const VALID_MS = 15_000;
const LOOK_MS = 1000;
/** Until a record is flushed. */
const SOON_MS = 250;

export class Watched {
  #file: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
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

  /** Flushes after a moment, also if the next log is far away. */
  soon(flush: () => Promise<void>): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void flush();
    }, SOON_MS);
    // A browser's timer is a number.
    (this.#timer as { unref?: () => void }).unref?.();
  }
}
