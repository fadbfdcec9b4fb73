// Ranks on two hosts, of which one is cut off: all end in time, on both sides.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { BannerFilter } from "../../src/cli/launch/mpirun.ts";
import { CHILD, play } from "./play.ts";
import type { Scene, Seen } from "./scene.ts";
import type { RunningRanks } from "./ranks.ts";
import { makeTwoHosts, twoHostsWork, type TwoHosts } from "./two-hosts.ts";

const child = new URL("./mpi-child.ts", import.meta.url);

function hosts(): TwoHosts {
  const made = makeTwoHosts();
  onTestFinished(() => made.remove());
  return made;
}

/** As `hookline launch` would show it. */
function shown(stderr: string): string {
  const banners = new BannerFilter();
  return banners.pass(stderr) + banners.end();
}

/** They are gone some seconds after the cut where the machine is free; a busy one needs longer. */
async function allGone(ranks: RunningRanks, at: number): Promise<void> {
  while (ranks.left().length > 0 && Date.now() - at < 300_000) await sleep(100);
  console.info(`until nothing was left on either host: ${Date.now() - at} ms`);
  expect(ranks.left()).toEqual([]);
}

const argsOf = (scene: Scene) => ({ args: [JSON.stringify([scene])] });

describe.skipIf(!twoHostsWork)("on two hosts", () => {
  it("four ranks reduce, to the same bits", async () => {
    const { code, notes, stderr } = await hosts().start(4, child, { args: ["shared+reduce"] }).end;
    expect({ code, stderr: shown(stderr) }).toEqual({ code: 0, stderr: "" });
    // Two of them could share memory, but all four cannot.
    expect(notes.filter(({ note }) => note === "shared").map(({ is }) => is)).toEqual([false, false, false, false]);
    expect(new Set(notes.filter(({ note }) => note === "started").map(({ host }) => host)).size).toBe(2);
    const hashes = [0, 1, 2, 3].map((rank) =>
      notes.filter((each) => each.note === "reduced" && each.rank === rank).map(({ hash }) => hash),
    );
    expect(hashes[0]).toHaveLength(9 * 3);
    for (const other of hashes) expect(other).toEqual(hashes[0]);
  });

  it("all end when the wire between them is cut", async () => {
    const two = hosts();
    const ranks = two.start(4, child, { args: ["endless"] });
    for (const rank of [0, 1, 2, 3]) await ranks.until("ready", rank);
    await sleep(500);
    const at = Date.now();
    two.cut();
    const end = await ranks.end;
    console.info(`from the cut to the end of mpirun: ${end.at - at} ms`);
    expect(end.code).not.toBe(0);
    expect(end.stderr).toMatch(/lost|communicat|unreachable|failed/i);
    await allGone(ranks, at);
  });

  it("a training that the cut ends goes on, and ends with the bits of one that nothing disturbed", async () => {
    const dir = mkdtempSync(join(tmpdir(), "hookline-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    // Endless and slow, so that the cut comes in its middle.
    const endless: Scene = { name: "cut", steps: 1e6, hooks: ["checkpointsOften", "slow"] };
    const runDir = join(dir, "parts");

    const two = hosts();
    const training = two.start(2, CHILD, argsOf({ ...endless, runDir }));
    for (const rank of [0, 1]) await training.until("step", rank);
    const saved = (): number[] =>
      readdirSync(join(runDir, "checkpoints")).flatMap((name) =>
        (/^step-(\d+)$/.exec(name) ?? []).slice(1).map(Number),
      );
    while (saved().length === 0) await sleep(50);
    const at = Date.now();
    two.cut();
    const cut = await training.end;
    expect(cut.code).not.toBe(0);
    expect(cut.notes.filter(({ note }) => note === "seen")).toEqual([]);
    await allGone(training, at);

    const steps = Math.max(...saved()) + 50;
    const scene: Scene = { name: "cut", steps, hooks: ["checkpointsOften"] };
    const whole = (await play(2, [{ ...scene, runDir: join(dir, "whole") }]))("cut")[0]!;
    two.mend();
    const { code, notes, stderr } = await two.start(2, CHILD, argsOf({ ...scene, runDir, resume: "auto" })).end;
    expect({ code, stderr: shown(stderr) }).toEqual({ code: 0, stderr: "" });
    const seen = notes.filter(({ note }) => note === "seen") as unknown as Seen[];
    expect(seen.map(({ digest }) => digest)).toEqual([whole.digest, whole.digest]);
    // It went on from a checkpoint.
    expect(seen[0]!.losses.length).toBeLessThan(steps);
  });
});
