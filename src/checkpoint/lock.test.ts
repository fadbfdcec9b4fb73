// The lock of a run directory: who holds it, who is refused, and when a holder counts as gone.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { CheckpointError } from "../core/errors.ts";
import { lockDirectory, type LockHolder } from "./lock.ts";

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

const deadPid = (): number => spawnSync("true").pid;
const holderOf = (): LockHolder => JSON.parse(readFileSync(`${dir}/.lock`, "utf8")) as LockHolder;

test("names its holder, refuses the second, and is gone after release", () => {
  const lock = lockDirectory(dir);
  expect(holderOf()).toMatchObject({ pid: process.pid, host: hostname(), started: expect.any(String) });
  expect(() => lockDirectory(dir)).toThrow(/\.lock: this process uses the directory already\. Close the other/);
  expect(readdirSync(dir)).toEqual([".lock"]);
  lock.release();
  lockDirectory(dir).release();
  lock.release();
  expect(existsSync(`${dir}/.lock`)).toBe(false);
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
  expect(readdirSync(dir)).toEqual([".lock"]);
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

test("release leaves a lock that is another's by now", () => {
  const lock = lockDirectory(dir);
  writeFileSync(`${dir}/.lock`, JSON.stringify({ pid: 1, host: "elsewhere", started: "", time: 1 }));
  lock.release();
  expect(existsSync(`${dir}/.lock`)).toBe(true);
});
