// The progress bar as a person sees it: golden screens of a real terminal. `npx vitest run tests/terminal -u` writes them; look at them.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BarChild } from "./bar-child.ts";
import { hasTmux, Screen, type ScreenOptions } from "./tmux.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("./bar-child.ts", import.meta.url));

class Run {
  readonly screen: Screen;
  readonly #folder: string;

  constructor(options: Omit<BarChild, "folder">, size: ScreenOptions) {
    const folder = mkdtempSync(join(tmpdir(), "hookline-"));
    this.#folder = folder;
    this.screen = new Screen([process.execPath, script, JSON.stringify({ ...options, folder })], size);
    onTestFinished(() => {
      this.screen.close();
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** Holds still there. */
  async at(point: string): Promise<void> {
    for (let tries = 0; !existsSync(join(this.#folder, `at ${point}`)); tries++) {
      if (tries > 2400) throw new Error(`It did not come to ${point}. The screen:\n${this.screen.text()}`);
      await sleep(50);
    }
  }

  go(point: string): void {
    writeFileSync(join(this.#folder, `go ${point}`), "");
  }

  /** The screen once it holds still. */
  async shows(): Promise<string> {
    return `${await this.screen.settled()}\n`;
  }

  /** The program is over; a shell would show its prompt, with a cursor. */
  async over(): Promise<string> {
    await this.screen.until(/\[exit \d+\] \$/);
    const text = await this.shows();
    return this.screen.cursorShown ? text : `${text}(no cursor)`;
  }
}

const golden = (name: string): string => `golden/${name}.txt`;

const WIDE = { columns: 120, rows: 12 };

if (!hasTmux) console.warn("No tmux, so no screens: apt-get install tmux");

describe.skipIf(!hasTmux)("the screen", () => {
  it("of a wide terminal: at the first step, on the way, in an evaluation, and in the end", async () => {
    const run = new Run({ holds: ["step 1", "step 13", "batch 5", "step 33"], test: true }, WIDE);
    await run.at("step 1");
    await expect(await run.shows()).toMatchFileSnapshot(golden("wide-first"));
    expect(run.screen.cursorShown).toBe(false);
    run.go("step 1");
    await run.at("step 13");
    await expect(await run.shows()).toMatchFileSnapshot(golden("wide"));
    run.go("step 13");
    await run.at("batch 5");
    await expect(await run.shows()).toMatchFileSnapshot(golden("wide-evaluation"));
    run.go("batch 5");
    await run.at("step 33");
    await expect(await run.shows()).toMatchFileSnapshot(golden("wide-later"));
    run.go("step 33");
    await expect(await run.over()).toMatchFileSnapshot(golden("wide-end"));
  });

  it.each([80, 40, 20])("of a terminal of %i columns: never a line that wraps", async (columns) => {
    const run = new Run({ holds: ["batch 5", "step 33"] }, { columns, rows: 12 });
    await run.at("batch 5");
    await expect(await run.shows()).toMatchFileSnapshot(golden(`columns-${columns}-evaluation`));
    run.go("batch 5");
    await run.at("step 33");
    await expect(await run.shows()).toMatchFileSnapshot(golden(`columns-${columns}`));
    run.go("step 33");
    await expect(await run.over()).toMatchFileSnapshot(golden(`columns-${columns}-end`));
  });

  it("when it is resized in mid-run, and while others' lines stand above", async () => {
    const run = new Run({ holds: ["step 13"], logs: true }, { columns: 100, rows: 14 });
    await run.at("step 13");
    run.screen.resize(50, 14);
    await expect(await run.shows()).toMatchFileSnapshot(golden("resize-narrower"));
    run.screen.resize(30, 14);
    await expect(await run.shows()).toMatchFileSnapshot(golden("resize-narrowest"));
    run.screen.resize(110, 14);
    await expect(await run.shows()).toMatchFileSnapshot(golden("resize-wider"));
    run.go("step 13");
    await expect(await run.over()).toMatchFileSnapshot(golden("resize-end"));
  });

  it("with lines of others, whole, half and many, and a table of what is logged", async () => {
    const run = new Run({ holds: ["step 13", "step 33"], chatterAt: 13, logs: true }, { columns: 90, rows: 24 });
    await run.at("step 13");
    await expect(await run.shows()).toMatchFileSnapshot(golden("interleaved"));
    run.go("step 13");
    await run.at("step 33");
    await expect(await run.shows()).toMatchFileSnapshot(golden("interleaved-later"));
    run.go("step 33");
    await expect(await run.over()).toMatchFileSnapshot(golden("interleaved-end"));
  });

  it("with lines of others at the very bottom, where each scrolls all that is above", async () => {
    const run = new Run({ holds: ["batch 5"], chatterAt: 13, logs: true }, { columns: 70, rows: 6 });
    await run.at("batch 5");
    await expect(await run.shows()).toMatchFileSnapshot(golden("bottom-evaluation"));
    run.go("batch 5");
    await expect(await run.over()).toMatchFileSnapshot(golden("bottom-end"));
  });

  it("after a resume: the time left is told from the speed of this part", async () => {
    const run = new Run({ holds: ["step 40"], resumeAt: 30 }, WIDE);
    await run.at("step 40");
    await expect(await run.shows()).toMatchFileSnapshot(golden("resumed"));
    run.go("step 40");
    await expect(await run.over()).toMatchFileSnapshot(golden("resumed-end"));
  });

  it("when the length of the run is not known", async () => {
    const run = new Run({ holds: ["step 33"], endless: true }, WIDE);
    await run.at("step 33");
    await expect(await run.shows()).toMatchFileSnapshot(golden("unknown-length"));
    run.go("step 33");
    await expect(await run.over()).toMatchFileSnapshot(golden("unknown-length-end"));
  });

  it("after Ctrl-C, which ends the run in its own way", async () => {
    const run = new Run({ holds: ["step 33"], logs: true }, WIDE);
    await run.at("step 33");
    run.screen.keys("C-c");
    await run.screen.until(/\^C|interrupted/, 2).catch(() => undefined);
    run.go("step 33");
    await expect(await run.over()).toMatchFileSnapshot(golden("interrupted"));
  });

  it("after Ctrl-C where nobody handles it: the process ends at once, and the cursor is back", async () => {
    const run = new Run({ holds: ["step 33"], signals: false }, WIDE);
    await run.at("step 33");
    await run.screen.settled();
    run.screen.keys("C-c");
    // The terminal's own echo comes after the signal: mostly before the last lines are drawn over it, but sometimes after.
    const text = (await run.over()).replace("^C[exit", "[exit");
    await expect(text).toMatchFileSnapshot(golden("killed"));
  });

  it("after an exception in a hook", async () => {
    const run = new Run({ failAt: 33 }, WIDE);
    await expect(await run.over()).toMatchFileSnapshot(golden("failed"));
  });

  it("after an error that nobody catches: it stands below the bar", async () => {
    const run = new Run({ holds: ["step 21"], crashAt: 21 }, { columns: 120, rows: 24 });
    await run.at("step 21");
    run.go("step 21");
    await run.screen.until(/\[exit 1\] \$/);
    const [first, second, ...rest] = (await run.screen.settled()).split("\n");
    expect(first).toMatch(/^epoch \d\/3 {2}━/);
    expect(second).toMatch(/^ {2}loss /);
    expect(rest.join("\n")).toContain("Error: nobody caught this");
    expect(run.screen.cursorShown).toBe(true);
  });

  it("without Unicode and without colours", async () => {
    const env = { LANG: "C", LC_ALL: "C", NO_COLOR: "1" };
    const run = new Run({ holds: ["batch 5"] }, { columns: 90, rows: 12, env });
    await run.at("batch 5");
    await expect(await run.shows()).toMatchFileSnapshot(golden("ascii"));
    expect(run.screen.text({ colors: true })).toBe(run.screen.text());
    run.go("batch 5");
    await expect(await run.over()).toMatchFileSnapshot(golden("ascii-end"));
  });

  it("with a loss that is not a number, in red", async () => {
    const run = new Run({ holds: ["step 16"], nanAt: 12 }, WIDE);
    await run.at("step 16");
    await expect(await run.shows()).toMatchFileSnapshot(golden("nan"));
    expect(run.screen.text({ colors: true })).toMatch(/\[[0-9;]*31mNaN/);
  });
});
