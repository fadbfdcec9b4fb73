// A training whose terminal is closed, in a real one: it ends with the code of the signal, where Node alone would abort.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { hasTmux, Screen } from "../terminal/tmux.ts";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";

const child = compiled(new URL("./train-child.ts", import.meta.url));

/** Outside its terminal's session a training does not get the terminal's SIGHUP, which may come before the other signal. */
const hasSetsid = spawnSync("setsid", ["true"]).status === 0;

test.runIf(hasTmux && hasSetsid).each([
  ["SIGHUP", 129],
  ["SIGTERM", 143],
] as const)("%s after its terminal is gone gives exit code %i", async (signal, code) => {
  const dir = tempDir();
  const [pid, out, exit] = [join(dir, "pid"), join(dir, "out"), join(dir, "exit")];
  // The shell outlives its terminal, so that somebody sees how the training ends.
  const shell = `trap '' HUP; "$@" > ${out} & echo $! > ${pid}; wait $!; echo $? > ${exit}`;
  const screen = new Screen(["sh", "-c", shell, "sh", "setsid", process.execPath, child, "{}"], {
    columns: 80,
    rows: 10,
  });
  onTestFinished(() => screen.close());
  await until(out, /begun/);
  screen.close();
  process.kill(Number(readFileSync(pid, "utf8")), signal);
  expect(await until(exit, /\d/)).toBe(`${code}\n`);
});

/** The text of a file once it has this. */
async function until(file: string, pattern: RegExp): Promise<string> {
  for (;;) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (pattern.test(text)) return text;
    await sleep(20);
  }
}
