// A training whose terminal is closed, in a real one: it ends with the code of the signal, where Node alone would abort.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { hasTmux, Screen } from "../terminal/tmux.ts";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";

const child = compiled(new URL("./train-child.ts", import.meta.url));

test.runIf(hasTmux).each([
  ["SIGHUP", 129],
  ["SIGTERM", 143],
] as const)("%s after its terminal is gone gives exit code %i", async (signal, code) => {
  const dir = tempDir();
  const [pid, exit] = [join(dir, "pid"), join(dir, "exit")];
  // The shell outlives its terminal, so that somebody sees how the training ends.
  const shell = `trap '' HUP; "$@" & echo $! > ${pid}; wait $!; echo $? > ${exit}`;
  const screen = new Screen(["sh", "-c", shell, "sh", process.execPath, child, "{}"], { columns: 80, rows: 10 });
  onTestFinished(() => screen.close());
  await screen.until(/begun/);
  screen.close();
  process.kill(Number(readFileSync(pid, "utf8")), signal);
  while (!existsSync(exit) || readFileSync(exit, "utf8") === "") await sleep(20);
  expect(readFileSync(exit, "utf8").trim()).toBe(String(code));
});
