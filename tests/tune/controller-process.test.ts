// A study in a process of its own: a second one on its directory is turned away, and a signal ends it cleanly.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { compile, newFolder } from "../crash/strace.ts";
import { startNoting } from "../support/noting-child.ts";
import { TRIAL_MODULE, type KilledStudy } from "./killed-study.ts";

interface Done {
  readonly note: "done";
  readonly status: string;
}

const home = newFolder();
beforeAll(async () => {
  await compile(home, "tests/tune/controller-child.ts", "src/tune/runners/trial-process.ts");
  writeFileSync(`${home}/trial.mjs`, TRIAL_MODULE);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const start = (dir: string) => {
  const study: KilledStudy = { dir, home, trials: 10_000, concurrency: 1, sampler: "random" };
  const child = startNoting<Done>([`${home}/controller-child.js`, JSON.stringify(study)]);
  onTestFinished(() => void child.signal("SIGKILL"));
  return child;
};

test.each(["SIGINT", "SIGTERM"] as const)("two controllers, and %s", async (name) => {
  const dir = `${home}/${name}`;
  const first = start(dir);
  // Its first trial has begun: it has the directory.
  await vi.waitFor(() => expect(existsSync(`${dir}/trial-000/steps.txt`)).toBe(true), { timeout: 300_000 });
  const second = start(dir);
  expect((await second.exit).code).toBe(1);
  expect(second.errors()).toMatch(/StudyError: Study: another controller is at work in .* \(process \d+ on \S+ uses/);
  first.signal(name);
  const { status } = await first.until("done");
  const end = await first.exit;
  expect([status, end.code]).toEqual(["interrupted", name === "SIGINT" ? 130 : 143]);
});
