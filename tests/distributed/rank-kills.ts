// Kills one of two ranks again and again: the other ends too, and the resumed run ends with the bits of an undisturbed one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { Rng } from "hookline/data";
import { CHILD, play } from "./play.ts";
import { startRanks } from "./ranks.ts";
import type { Scene } from "./scene.ts";

/** Returns how many of the kills met a running training. */
export async function killRanks(kills: number, steps: number, seed = 11): Promise<number> {
  const scene: Scene = { name: "killed", steps, hooks: ["checkpointsOften", "slow"] };
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  try {
    const runDir = `${dir}/killed`;
    const rng = new Rng(seed);
    const [whole] = (await play(2, [{ ...scene, runDir: `${dir}/whole` }]))("killed");
    let killed = 0;
    for (let n = 0; n < kills; n++) {
      const run = startRanks(2, CHILD, { args: [JSON.stringify([{ ...scene, runDir, resume: "auto" }])] });
      // Half of the kills hit ranks that are starting and connecting, the others hit steps.
      const { pid } = await run.until(n % 2 === 0 ? "start" : "step", rng.int(2));
      await sleep(rng.int(n % 2 === 0 ? 1000 : 200));
      process.kill(pid, "SIGKILL");
      const end = await run.end;
      expect(end.code).not.toBe(0);
      expect(end.stderr).toMatch(/signal 9|Killed/);
      await run.allGone();
      if (!end.notes.some(({ note }) => note === "seen")) killed++;
    }
    const ranks = (await play(2, [{ ...scene, runDir, resume: "auto" }]))("killed");
    expect(ranks.map(({ digest }) => digest)).toEqual([whole!.digest, whole!.digest]);
    expect(ranks[0]!.losses.at(-1)).toBe(whole!.losses.at(-1));
    return killed;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
