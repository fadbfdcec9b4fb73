// Yielding: in a synchronous run, signals, timers and I/O would starve without a turn of their own now and then.
import type { Platform } from "../platform/platform.ts";

/** Gives them one when called, if the last is at least so many milliseconds ago. */
export function breather(platform: Platform, everyMs: number): () => void | Promise<void> {
  let last = 0;
  return () => {
    const now = performance.now();
    if (now - last < everyMs) return undefined;
    last = now;
    return platform.yieldToEvents();
  };
}
