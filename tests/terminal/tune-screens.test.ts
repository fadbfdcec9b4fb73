// The live table of trials as a person sees it: golden screens of a real terminal, as in screens.test.ts.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasTmux, Screen, type ScreenOptions } from "./tmux.ts";
import type { TuneChild } from "./tune-child.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("./tune-child.ts", import.meta.url));
const golden = (name: string): string => `golden/tune-${name}.txt`;

if (!hasTmux) console.warn("No tmux, so no screens: apt-get install tmux");

/** The study, holding still at a point of its way. */
async function startAt(point: string, size: ScreenOptions) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  const child: TuneChild = { folder, holds: [point] };
  const screen = new Screen([process.execPath, script, JSON.stringify(child)], size);
  onTestFinished(() => {
    screen.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (let tries = 0; !existsSync(join(folder, `at ${point}`)); tries++) {
    if (tries > 2400) throw new Error(`It did not come to ${point}. The screen:\n${screen.text()}`);
    await sleep(50);
  }
  return { screen, go: () => writeFileSync(join(folder, `go ${point}`), "") };
}

describe.skipIf(!hasTmux)("the screen of a study", () => {
  it("on its way, and in the end", async () => {
    const { screen, go } = await startAt("trial 11 step 50", { columns: 110, rows: 20 });
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("wide"));
    expect(screen.cursorShown).toBe(false);
    expect(screen.text({ colors: true })).toMatch(/\[[0-9;]*36mrunning/);
    go();
    await screen.until(/\[exit 0\] \$/);
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("end"));
    expect(screen.cursorShown).toBe(true);
  });

  it("when it is made narrower, and wider again", async () => {
    const { screen } = await startAt("trial 2 step 50", { columns: 110, rows: 20 });
    await screen.settled();
    screen.resize(56, 20);
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("narrower"));
    screen.resize(90, 20);
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("wider"));
  });

  it("of a small terminal: as many trials as there is room for", async () => {
    const { screen } = await startAt("trial 11 step 50", { columns: 30, rows: 9 });
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("small"));
  });

  it("without Unicode and without colours", async () => {
    const env = { LANG: "C", LC_ALL: "C", NO_COLOR: "1" };
    const { screen } = await startAt("trial 6 step 30", { columns: 80, rows: 14, env });
    await expect(`${await screen.settled()}\n`).toMatchFileSnapshot(golden("ascii"));
    expect(screen.text({ colors: true })).toBe(screen.text());
  });
});
