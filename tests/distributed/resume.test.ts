// A checkpoint does not know how many processes saved it: any number of them goes on from it.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { distance, play } from "./play.ts";
import { mpirunWorks } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";

const dir = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const STEPS = 30;
// In the middle of an epoch, after a save by its cadence and one at the end.
const first: Scene = { name: "first", steps: 13, runDir: `${dir}/first`, hooks: ["checkpoints"] };

describe.skipIf(!mpirunWorks)("saved by 2 ranks", () => {
  let whole: Seen;

  beforeAll(async () => {
    const seen = await play(2, [{ name: "whole", steps: STEPS }, first]);
    [whole] = seen("whole") as [Seen];
  });

  it.each([1, 2, 4])("and gone on with by %i", async (ranks) => {
    const runDir = `${dir}/by-${ranks}`;
    cpSync(first.runDir!, runDir, { recursive: true });
    const seen = await play(ranks, [{ ...first, name: "rest", steps: STEPS, runDir, resume: "auto" }]);
    const [main, ...others] = seen("rest") as [Seen, ...Seen[]];
    expect(main.losses).toHaveLength(STEPS - 13);
    expect(distance({ ...whole, losses: whole.losses.slice(13) }, main)).toBeLessThan(1e-5);
    expect(main.samplesSeen).toBe(whole.samplesSeen);
    for (const other of others) expect(other.digest).toBe(main.digest);
    if (ranks === 2) expect(main.digest).toBe(whole.digest);
  });
});
