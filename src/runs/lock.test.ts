// The lock of a run directory: who holds it, who is refused, and when a holder counts as gone.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { CheckpointError } from "../core/errors.ts";
import { isLocked, lockDirectory, type LockHolder } from "./lock.ts";
import { thisProcess } from "./liveness.ts";

const home = mkdtempSync(`${tmpdir()}/hookline-lock-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));
let count = 0;
let dir: string;
beforeEach(() => {
  dir = `${home}/${++count}`;
});

/** Leaves a lock as another process would have. */
function leaveLock(holder: Partial<LockHolder> | string): void {
  lockDirectory(dir).release();
  writeFileSync(`${dir}/.lock`, typeof holder === "string" ? holder : JSON.stringify(holder));
}

/** What is in the directory, without the socket on which the lock's holder listens. */
const filesIn = (): string[] => readdirSync(dir).filter((name) => !name.startsWith(".alive-"));
const deadPid = (): number => spawnSync("true").pid;
const holderOf = (): LockHolder => JSON.parse(readFileSync(`${dir}/.lock`, "utf8")) as LockHolder;

test("names its holder, refuses the second, and is gone after release", () => {
  const lock = lockDirectory(dir);
  expect(holderOf()).toMatchObject({ pid: process.pid, host: hostname(), started: expect.any(String) });
  expect(() => lockDirectory(dir)).toThrow(/\.lock: this process uses the directory already\. Close the other/);
  expect(filesIn()).toEqual([".lock"]);
  lock.release();
  lockDirectory(dir).release();
  lock.release();
  expect(readdirSync(dir)).toEqual([]);
});

test("another process that lives is named", () => {
  leaveLock({ pid: process.ppid, host: hostname(), started: "", time: Date.UTC(2026, 0, 2) });
  expect(() => lockDirectory(dir)).toThrow(CheckpointError);
  expect(() => lockDirectory(dir)).toThrow(
    `process ${process.ppid} on ${hostname()} uses the directory since 2026-01-02T00:00:00.000Z. Wait for it`,
  );
});

test("a dead process does not keep it", () => {
  leaveLock({ pid: deadPid(), host: hostname(), started: "1", time: 1 });
  const lock = lockDirectory(dir);
  expect(holderOf().pid).toBe(process.pid);
  expect(filesIn()).toEqual([".lock"]);
  lock.release();
});

test.runIf(process.platform === "linux")("nor does one whose pid another process has now", () => {
  leaveLock({ pid: process.ppid, host: hostname(), started: "1", time: 1 });
  const lock = lockDirectory(dir);
  expect(holderOf().pid).toBe(process.pid);
  lock.release();
});

test.runIf(process.platform === "linux")("nor one whose pid a process of another user has now", () => {
  leaveLock({ pid: process.ppid, host: hostname(), started: "1", time: 1 });
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  onTestFinished(() => kill.mockRestore());
  lockDirectory(dir).release();
  leaveLock({ pid: process.ppid, host: hostname(), started: "", time: 1 });
  expect(() => lockDirectory(dir)).toThrow(`process ${process.ppid} on`);
});

test("a process on another machine is believed", () => {
  leaveLock({ pid: deadPid(), host: "elsewhere", started: "1", time: 1 });
  expect(() => lockDirectory(dir)).toThrow(/on elsewhere uses .* if that machine is gone, delete this file/);
});

test.each(["", "nonsense", "{}"])("a lock that says %j is somebody's", (text) => {
  leaveLock(text);
  expect(() => lockDirectory(dir)).toThrow(/the lock names no holder\. Delete this file if no run uses/);
});

test.each([
  ["a link that leads nowhere", () => symlinkSync(`${dir}/nowhere`, `${dir}/.lock`)],
  ["a link to a file", () => symlinkSync("/etc/hostname", `${dir}/.lock`)],
  ["a directory", () => mkdirSync(`${dir}/.lock`)],
  ["a pipe", () => execFileSync("mkfifo", [`${dir}/.lock`])],
])("%s in the place of the lock is refused", (_, make) => {
  lockDirectory(dir).release();
  make();
  expect(() => lockDirectory(dir)).toThrow(/the lock names no holder\. Delete this file if no run uses/);
  expect(isLocked(dir)).toBe(true);
});

test.runIf(process.platform === "linux")(
  "a process of another PID namespace or boot is asked through its socket",
  () => {
    const lock = lockDirectory(dir);
    const holder = holderOf();
    for (const other of [{ namespaces: "pid:[1] time:[2]" }, { boot: "another" }]) {
      writeFileSync(`${dir}/.lock`, JSON.stringify({ ...holder, pid: deadPid(), ...other }));
      expect(() => lockDirectory(dir)).toThrow(/of another container or an earlier boot on .* Wait for it or stop it/);
    }
    writeFileSync(`${dir}/.lock`, JSON.stringify(holder));
    lock.release();
  },
);

test.runIf(process.platform === "linux")("its socket gone, nobody can tell, and it counts as alive", () => {
  const unasked = { ...thisProcess(), pid: deadPid(), boot: "another", time: 1, token: "none" };
  leaveLock(unasked);
  expect(() => lockDirectory(dir)).toThrow(/Nothing here can tell whether it still runs\. .* \(`npx hookline unlock /);
});

test.runIf(process.platform === "linux")("a process of another boot whose socket nobody serves is dead", () => {
  const script = `const net = require("node:net");
    net.createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"));`;
  leaveLock({ ...thisProcess(), pid: deadPid(), boot: "another", time: 1, token: "dead" });
  spawnSync(process.execPath, ["-e", script, `${dir}/.alive-dead.lock`]);
  expect(readdirSync(dir)).toContain(".alive-dead.lock");
  const lock = lockDirectory(dir);
  expect(readdirSync(dir)).not.toContain(".alive-dead.lock");
  lock.release();
});

test("release leaves a lock that is another's by now", () => {
  const lock = lockDirectory(dir);
  writeFileSync(`${dir}/.lock`, JSON.stringify({ pid: 1, host: "elsewhere", started: "", time: 1 }));
  lock.release();
  expect(existsSync(`${dir}/.lock`)).toBe(true);
});
