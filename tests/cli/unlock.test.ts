// hookline unlock: a lock of a dead process goes, one of a live process stays unless forced, and the refusal of a run offers it.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installHookline, type Ended, type Installed } from "./installed.ts";

let installed: Installed;
let project: string;
beforeAll(async () => {
  installed = await installHookline();
  project = installed.project();
});
afterAll(() => installed.remove());

/** A run directory with the lock of this process: by pid, host and time. */
function lockedRun(name: string, holder: object): string {
  const dir = `${project}/runs/${name}/checkpoints`;
  mkdirSync(dir, { recursive: true });
  writeFileSync(`${dir}/.lock`, JSON.stringify({ started: "", time: Date.UTC(2026, 0, 2), ...holder }));
  return `${dir}/.lock`;
}
const unlock = (...args: readonly string[]): Promise<Ended> => installed.hookline(project, "unlock", ...args);

test("the lock of a process that has ended is removed", async () => {
  const pid = spawnSync("true").pid;
  const lock = lockedRun("ended", { pid, host: hostname() });
  const { code, stderr } = await unlock("runs/ended");
  expect(stderr).toBe(
    `removed runs/ended/checkpoints/.lock of process ${pid} on ${hostname()} (locked since 2026-01-02T00:00:00.000Z), which has ended\n`,
  );
  expect({ code, isThere: existsSync(lock) }).toEqual({ code: 0, isThere: false });
  expect((await unlock("runs/ended")).stderr).toBe("there is no lock in runs/ended\n");
});

test.each([
  [
    "on another host",
    "elsewhere",
    /nothing here can tell whether process \d+ on elsewhere \(locked since .*Z\) still runs/,
  ],
  ["that is running", hostname(), /process \d+ on \S+ \(locked since .*Z\) is running\. Stop it first\./],
])("the lock of a process %s stays, unless forced", async (name, host, message) => {
  const lock = lockedRun(host, { pid: process.pid, host });
  const refused = await unlock(`runs/${host}`);
  expect(refused.code, name).toBe(2);
  expect(refused.stderr).toMatch(message);
  expect(refused.stderr).toContain(`\`npx hookline unlock runs/${host} --force\``);
  expect(existsSync(lock)).toBe(true);
  expect((await unlock(`runs/${host}`, "--force")).code).toBe(0);
  expect(existsSync(lock)).toBe(false);
});

test("a directory that does not exist is bad input", async () => {
  const { code, stderr } = await unlock("runs/nowhere");
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error: There is no directory runs/nowhere. `npx hookline runs` lists runs.\n",
  });
});
