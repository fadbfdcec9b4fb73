// How long the main thread has worked: a clock that stands still while other processes have the processor.
import { closeSync, openSync, readSync } from "node:fs";

/** Of the thread's life: nanoseconds on a processor, then what does not matter here. */
const PATH = "/proc/self/schedstat";

/** Returns a function that says milliseconds. On systems without such a clock they are those of the wall. */
export function threadClock(): () => number {
  const text = Buffer.alloc(64);
  const read = (): number => {
    const fd = openSync(PATH, "r");
    try {
      return Number.parseInt(text.toString("latin1", 0, readSync(fd, text, 0, text.length, 0)), 10) / 1e6;
    } finally {
      closeSync(fd);
    }
  };
  try {
    return Number.isNaN(read()) ? () => performance.now() : read;
  } catch {
    return () => performance.now();
  }
}
