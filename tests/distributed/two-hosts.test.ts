// Ranks on two hosts, of which one is cut off: all end in time, on both sides.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeTwoHosts, twoHostsWork, type TwoHosts } from "./two-hosts.ts";

const child = new URL("./mpi-child.ts", import.meta.url);

function hosts(): TwoHosts {
  const made = makeTwoHosts();
  onTestFinished(() => made.remove());
  return made;
}

describe.skipIf(!twoHostsWork)("on two hosts", () => {
  it("four ranks reduce, to the same bits", { timeout: 120_000 }, async () => {
    const { code, notes, stderr } = await hosts().start(4, child, { args: ["reduce"] }).end;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(new Set(notes.filter(({ note }) => note === "started").map(({ host }) => host)).size).toBe(2);
    const hashes = [0, 1, 2, 3].map((rank) =>
      notes.filter((each) => each.note === "reduced" && each.rank === rank).map(({ hash }) => hash),
    );
    expect(hashes[0]).toHaveLength(9 * 3);
    for (const other of hashes) expect(other).toEqual(hashes[0]);
  });

  it("all end within 20 seconds when the wire between them is cut", { timeout: 120_000 }, async () => {
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
    while (ranks.left().length > 0 && Date.now() - at < 20_000) await sleep(100);
    console.info(`until nothing was left on either host: ${Date.now() - at} ms`);
    expect(ranks.left()).toEqual([]);
  });
});
