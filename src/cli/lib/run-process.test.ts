// Whether a run is running: its process lives, and is the one that began it.
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { thisProcess } from "../../runs/liveness.ts";
import { statusNow } from "./run-process.ts";

test("a run of a process that lives is running; of one that is gone, killed", () => {
  expect(statusNow("running", thisProcess())).toBe("running");
  expect(statusNow("running", { ...thisProcess(), pid: spawnSync("true").pid })).toBe("killed");
  expect(statusNow("completed", { ...thisProcess(), pid: spawnSync("true").pid })).toBe("completed");
});

test.runIf(process.platform === "linux")("a pid that another process has now does not keep it running", () => {
  expect(statusNow("running", { ...thisProcess(), started: "1" })).toBe("killed");
});

test("where the start of the process is not written down, the pid decides", () => {
  expect(statusNow("running", { pid: process.pid, host: hostname() })).toBe("running");
});

test("of a process on another machine, or of none, nobody can tell", () => {
  expect(statusNow("running", { ...thisProcess(), host: "elsewhere", pid: 1 })).toBe("running");
  expect(statusNow("running", {})).toBe("running");
});
