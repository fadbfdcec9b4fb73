// A pause that one rank asks for holds all of them, for longer than a rank may wait for another.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CHILD } from "./play.ts";
import { mpirunWorks, runRanks, startRanks } from "./ranks.ts";
import type { Scene, Seen } from "./scene.ts";

const TIMEOUT_S = 5;
const PAUSE_MS = 3 * TIMEOUT_S * 1000;
const dir = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const env = { HOOKLINE_MPI_TIMEOUT: String(TIMEOUT_S), PAUSE_MS: String(PAUSE_MS) };

describe.skipIf(!mpirunWorks)("a pause", () => {
  it.each([2, 4])(
    "of three times the timeout: %i ranks continue, with the same parameters as without it",
    async (ranks) => {
      const scenes: Scene[] = [
        { name: "paused", hooks: ["pausesOnMain"] },
        { name: "not paused", hooks: ["changesOnMain"] },
      ];
      const { code, notes, stderr } = await runRanks(ranks, CHILD, { args: [JSON.stringify(scenes)], env });
      expect(code, stderr).toBe(0);
      const seen = notes.filter(({ note }) => note === "seen") as unknown as Seen[];
      const paused = seen.filter(({ scene }) => scene === "paused");
      const without = seen.filter(({ scene }) => scene === "not paused");
      expect(paused).toHaveLength(ranks);
      expect(new Set([...paused, ...without].map(({ digest }) => digest)).size).toBe(1);
      for (const { lrs, steps, interventions } of paused) {
        expect(steps).toBe(12);
        expect(lrs).toEqual(lrs.map((_, i) => (i < 5 ? 0.01 : 0.5)));
        expect(interventions.map(({ what, step, ranks: by }) => [what, step, by])).toEqual([
          ["pause", 5, [0]],
          ["setLr(0.5)", 5, [0]],
          ["requestEval", 5, [0]],
          ["continue", 5, [0]],
        ]);
      }
      const elapsed = (kind: string): number => notes.find(({ note }) => note === kind)!["elapsed"] as number;
      // The clock stands still: seven more steps do not take as long as the pause.
      expect(elapsed("over") - elapsed("paused")).toBeLessThan(PAUSE_MS / 1000);
    },
  );

  it("ends for all when one rank gets a signal: the run can be resumed", async () => {
    const runDir = join(dir, "signal");
    const scenes: Scene[] = [{ name: "paused", hooks: ["pausesOnMain", "checkpoints"], runDir }];
    const running = startRanks(2, CHILD, { args: [JSON.stringify(scenes)], env: { ...env, PAUSE_MS: "600000" } });
    await running.until("paused", 0);
    process.kill((await running.until("start", 1)).pid, "SIGINT");
    const { notes } = await running.end;
    const seen = notes.filter(({ note }) => note === "seen") as unknown as Seen[];
    expect(seen.map(({ status, requestedBy, steps }) => [status, requestedBy, steps])).toEqual([
      ["interrupted", "SIGINT", 5],
      ["interrupted", "SIGINT", 5],
    ]);
    expect(readdirSync(join(runDir, "checkpoints"))).toContain("step-000005");
  });
});
