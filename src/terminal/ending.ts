// How far a run came, in words: for the progress bar and the console.
import { formatDuration } from "./eta.ts";

/** `after 60 steps in 0:06`. A run that failed in a step need not have done it: then `at step 33, after 0:03`. */
export function howFar(status: string, step: number, elapsed: number): string {
  const time = formatDuration(elapsed);
  if (status === "error") return `${step === 0 ? "before the first step" : `at step ${step}`}, after ${time}`;
  return `after ${step} ${step === 1 ? "step" : "steps"} in ${time}`;
}
