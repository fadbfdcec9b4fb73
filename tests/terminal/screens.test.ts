// The progress bar as a person sees it: golden screens of a real terminal. `npx vitest run -u tests/terminal` writes them; look at them.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BarChild } from "./bar-child.ts";
import { hasTmux, Screen, type ScreenOptions } from "./tmux.ts";

const script = fileURLToPath(new URL("./bar-child.ts", import.meta.url));

class Run {
  readonly screen: Screen;
  readonly #folder: string;

  constructor(options: Omit<BarChild, "folder">, size: ScreenOptions) {
    const folder = mkdtempSync(join(tmpdir(), "hookline-"));
    this.#folder = folder;
    this.screen = new Screen(
      [process.execPath, "--import", "tsx", script, JSON.stringify({ ...options, folder })],
      size,
    );
    onTestFinished(() => {
      this.screen.close();
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** Holds still there. */
  async at(point: string): Promise<void> {
    for (let tries = 0; !existsSync(join(this.#folder, `at ${point}`)); tries++) {
      if (tries > 400) throw new Error(`It did not come to ${point}. The screen:\n${this.screen.text()}`);
      await sleep(50);
    }
  }

  go(point: string): void {
    writeFileSync(join(this.#folder, `go ${point}`), "");
  }

  async looksLike(name: string): Promise<void> {
    const text = await this.screen.settled();
    await expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
  }

  /** The program is over; a shell would show its prompt, with a cursor. */
  async over(name: string): Promise<void> {
    await this.screen.until(/\[exit \d+\] \$/);
    await this.looksLike(name);
    expect(this.screen.cursorShown).toBe(true);
  }
}

const WIDE = { columns: 120, rows: 12 };

if (!hasTmux) console.warn("No tmux, so no screens: apt-get install tmux");

describe.skipIf(!hasTmux)("the screen", { timeout: 60_000 }, () => {
  it("of a wide terminal: at the first step, on the way, in an evaluation, and in the end", async () => {
    const run = new Run({ holds: ["step 1", "step 13", "batch 5", "step 33"], test: true }, WIDE);
    await run.at("step 1");
    await run.looksLike("wide-first");
    expect(run.screen.cursorShown).toBe(false);
    run.go("step 1");
    await run.at("step 13");
    await run.looksLike("wide");
    run.go("step 13");
    await run.at("batch 5");
    await run.looksLike("wide-evaluation");
    run.go("batch 5");
    await run.at("step 33");
    await run.looksLike("wide-later");
    run.go("step 33");
    await run.over("wide-end");
  });

  it.each([80, 40, 20])("of a terminal of %i columns: never a line that wraps", async (columns) => {
    const run = new Run({ holds: ["batch 5", "step 33"] }, { columns, rows: 12 });
    await run.at("batch 5");
    await run.looksLike(`columns-${columns}-evaluation`);
    run.go("batch 5");
    await run.at("step 33");
    await run.looksLike(`columns-${columns}`);
    run.go("step 33");
    await run.over(`columns-${columns}-end`);
  });

  it("when it is resized in mid-run, and while others' lines stand above", async () => {
    const run = new Run({ holds: ["step 13"], logs: true }, { columns: 100, rows: 14 });
    await run.at("step 13");
    run.screen.resize(50, 14);
    await run.looksLike("resize-narrower");
    run.screen.resize(30, 14);
    await run.looksLike("resize-narrowest");
    run.screen.resize(110, 14);
    await run.looksLike("resize-wider");
    run.go("step 13");
    await run.over("resize-end");
  });

  it("with lines of others, whole, half and many, and a table of what is logged", async () => {
    const run = new Run({ holds: ["step 13", "step 33"], chatterAt: 13, logs: true }, { columns: 90, rows: 24 });
    await run.at("step 13");
    await run.looksLike("interleaved");
    run.go("step 13");
    await run.at("step 33");
    await run.looksLike("interleaved-later");
    run.go("step 33");
    await run.over("interleaved-end");
  });

  it("with lines of others at the very bottom, where each scrolls all that is above", async () => {
    const run = new Run({ holds: ["batch 5"], chatterAt: 13, logs: true }, { columns: 70, rows: 6 });
    await run.at("batch 5");
    await run.looksLike("bottom-evaluation");
    run.go("batch 5");
    await run.over("bottom-end");
  });

  it("after a resume: the time left is told from the speed of this part", async () => {
    const run = new Run({ holds: ["step 40"], resumeAt: 30 }, WIDE);
    await run.at("step 40");
    await run.looksLike("resumed");
    run.go("step 40");
    await run.over("resumed-end");
  });

  it("when the length of the run is not known", async () => {
    const run = new Run({ holds: ["step 33"], endless: true }, WIDE);
    await run.at("step 33");
    await run.looksLike("unknown-length");
    run.go("step 33");
    await run.over("unknown-length-end");
  });

  it("after Ctrl-C, which ends the run in its own way", async () => {
    const run = new Run({ holds: ["step 33"], logs: true }, WIDE);
    await run.at("step 33");
    run.screen.keys("C-c");
    await run.screen.until(/\^C|interrupted/, 2).catch(() => undefined);
    run.go("step 33");
    await run.over("interrupted");
  });

  it("after Ctrl-C where nobody handles it: the process ends at once, and the cursor is back", async () => {
    const run = new Run({ holds: ["step 33"], signals: false }, WIDE);
    await run.at("step 33");
    await run.screen.settled();
    run.screen.keys("C-c");
    await run.over("killed");
  });

  it("after an exception in a hook", async () => {
    await new Run({ failAt: 33 }, WIDE).over("failed");
  });

  it("after an error that nobody catches: it stands below the bar", async () => {
    const run = new Run({ holds: ["step 21"], crashAt: 21 }, { columns: 120, rows: 24 });
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
    await run.looksLike("ascii");
    expect(run.screen.text({ colors: true })).toBe(run.screen.text());
    run.go("batch 5");
    await run.over("ascii-end");
  });

  it("with a loss that is not a number, in red", async () => {
    const run = new Run({ holds: ["step 16"], nanAt: 12 }, WIDE);
    await run.at("step 16");
    await run.looksLike("nan");
    expect(run.screen.text({ colors: true })).toMatch(/\u001B\[[0-9;]*31mNaN/);
  });
});
