// The writing thread from compiled code, and from a bundle that has left its script behind.
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { compile, newFolder } from "./strace.ts";

const home = newFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (folder: string): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [`${folder}/thread-child.js`, `${folder}/run`], { timeout: 600_000 });

test("compiled, the thread's script lies beside the store, and an open store does not keep the process", async () => {
  const folder = `${home}/whole`;
  await compile(folder, "tests/crash/thread-child.ts", "src/checkpoint/stores/disk-worker.ts");
  expect(await run(folder)).toEqual({ stdout: "step-1", stderr: "" });
});

test("without its script the checkpoint is written all the same, and a line says how", async () => {
  const folder = `${home}/bundled`;
  await compile(folder, "tests/crash/thread-child.ts");
  const { stdout, stderr } = await run(folder);
  expect(stdout).toBe("step-1");
  expect(stderr).toMatch(
    /^hookline: checkpoints are written on the training thread, since the writing thread failed: .*/,
  );
  expect(stderr.trim().split("\n")).toHaveLength(1);
});
