// SIGKILL at each system call that changes the checkpoint directory (`npm run soak`: that touches it): whatever is left,
// nothing is torn and nothing is lost.
import { cpSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSoak } from "../support/repetitions.ts";
import { prepare, recover, SCENARIOS } from "./scenario.ts";
import { compile, newFolder, straceWorks, Traced } from "./strace.ts";

if (!straceWorks) console.warn("Kills at every system call are skipped: apt-get install strace, and allow ptrace");

describe.runIf(straceWorks)("killed at every system call", () => {
  const home = newFolder();
  beforeAll(() => compile(home, "tests/crash/save-child.ts"));
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test.concurrent.each(Object.entries(SCENARIOS))("%s", async (name, scenario) => {
    const lane = `${home}/${name.replaceAll(" ", "-")}`;
    const template = `${lane}-before`;
    prepare(template, scenario);
    const reset = (): void => {
      rmSync(lane, { recursive: true, force: true });
      if (scenario.before.length > 0) cpSync(template, lane, { recursive: true });
    };
    reset();
    const child = new Traced(lane, [`${home}/save-child.js`, lane, name], `${lane}.trace`);
    const touching = await child.record();
    expect(recover(lane, scenario), "untouched").toBe("new");
    // A file alone is opened, written, synced and closed: fewer points would mean that the trace was misread.
    expect(touching.length).toBeGreaterThan(30);
    const points = touching.filter(({ changes }) => changes || isSoak);

    const found = { old: 0, new: 0 };
    for (const point of points) {
      reset();
      const { signal, trace } = await child.inject(point, "signal=SIGKILL");
      const at = `${point.call} ${point.nth}`;
      expect(signal, at).toBe("SIGKILL");
      expect(trace, at).toContain("killed by SIGKILL");
      try {
        found[recover(lane, scenario)]++;
      } catch (error) {
        throw new Error(`Killed at ${at}: ${(error as Error).message}`, { cause: error });
      }
    }
    console.log(
      `${name}: ${points.length} kills, ${found.old} find the old state, ${found.new} the new, 0 torn or lost`,
    );
    expect(found.old).toBeGreaterThan(0);
    expect(found.new).toBeGreaterThan(0);
  });
});
