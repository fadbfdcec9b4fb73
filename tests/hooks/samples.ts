// What the tests of the documents' hooks share: what is printed, and data that goes bad.
import type { Hook } from "hookline";
import { afterEach, beforeEach, vi } from "vitest";

/** The lines of console.log, anew for every test. */
export function capturePrints(): readonly string[] {
  const printed: string[] = [];
  beforeEach(() => {
    printed.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: unknown) => void printed.push(String(line)));
  });
  afterEach(() => void vi.restoreAllMocks());
  return printed;
}

/** Training data that goes bad in step `at`. */
export const poison = (at: number): Hook => ({
  name: "poison",
  onBatchBegin(ctx) {
    const { x, y } = ctx.batch;
    if (ctx.step === at) ctx.replaceBatch({ x: { ...x!, data: x!.data.map(() => Number.NaN) }, y: y! });
  },
});
