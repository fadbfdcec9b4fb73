// Whether a model is traced to be captured rather than run. A layer that computes one primitive in many steps, because
// they are faster, then shows the primitive: whoever interprets or exports the program decides how to compute it.

// One for all programs, as in tap.ts: tracing is synchronous.
let capturing = false;

export const isCapturing = (): boolean => capturing;

/** Traces `run` for a captured program. */
export function whileCapturing<T>(run: () => T): T {
  const outer = capturing;
  capturing = true;
  try {
    return run();
  } finally {
    capturing = outer;
  }
}
