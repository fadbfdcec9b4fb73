// Ctrl-C in the middle of a training, and what comes after it.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { SavedResults } from "../../src/runs/results.ts";
import { installHookline, type Installed } from "./installed.ts";
import { CONFIG, tinyProject } from "./tiny-project.ts";

let installed: Installed;
beforeAll(async () => void (installed = await installHookline()));
afterAll(() => installed.remove());

const SLOW = `${CONFIG}  - { use: ./parts.mjs#slow, ms: 50 }\n`;

const resultsOf = (dir: string): SavedResults["models"][string]["results"] =>
  (JSON.parse(readFileSync(join(dir, "results.json"), "utf8")) as SavedResults).models["model"]?.results;

/** Trains, and sends the signal when one step is done. */
async function interrupted(dir: string, signal: "SIGINT" | "SIGTERM", ...args: readonly string[]) {
  const child = installed.start(dir, "train", ...args);
  child.stderr!.on("data", (chunk) => {
    if (String(chunk).includes("one step is done")) child.kill(signal);
  });
  return child.ended;
}

test("Ctrl-C ends a run in good order, a new one does not pass over it, and resume completes it", async () => {
  const dir = installed.project(tinyProject(SLOW));
  const { code, stdout } = await interrupted(dir, "SIGINT");
  expect(code).toBe(130);
  expect(stdout).toContain(
    "interrupted (SIGINT). Its files are in runs/tiny.\nResume it: npx hookline resume runs/tiny",
  );

  const another = await installed.hookline(dir, "train");
  expect(another.code).toBe(2);
  expect(another.stderr).toContain(
    "runs/tiny has an unfinished run, which ended with: SIGINT. Continue it with the config it was started with: `npx hookline resume runs/tiny`;",
  );

  const resumed = await installed.hookline(dir, "resume", "runs/tiny", "--json");
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    status: "completed",
    models: { model: { training: { steps: 12 } } },
  });

  await installed.hookline(dir, "train", "--run-dir", "runs/whole", "--set", "hooks.slow.ms=0");
  expect(resultsOf(join(dir, "runs/tiny"))).toEqual(resultsOf(join(dir, "runs/whole")));
});

test("SIGTERM is 143; --fresh moves the unfinished run aside and starts anew", async () => {
  const dir = installed.project(tinyProject(SLOW));
  expect((await interrupted(dir, "SIGTERM")).code).toBe(143);
  const { code, stderr } = await installed.hookline(dir, "train", "--fresh", "--set", "hooks.slow.ms=0");
  expect(code).toBe(0);
  expect(stderr).toContain("runs/tiny.1");
  expect(resultsOf(join(dir, "runs/tiny.1"))).toBeUndefined();
  expect(resultsOf(join(dir, "runs/tiny"))).toBeDefined();
});

test("a run that is going on is left alone; when it was killed, it is unfinished too, and goes on", async () => {
  const dir = installed.project(tinyProject(SLOW));
  const child = installed.start(
    dir,
    "train",
    "--set",
    "hooks.slow.ms=60000",
    "--set",
    "hooks.modelCheckpoint.every=1 step",
  );
  await new Promise<void>((resolve) => {
    child.stderr!.on("data", (chunk) => {
      if (String(chunk).includes("one step is done")) resolve();
    });
  });
  const others = await Promise.all([
    installed.hookline(dir, "resume", "runs/tiny"),
    installed.hookline(dir, "train", "--fresh"),
  ]);
  for (const { code, stderr } of others) {
    expect(code).toBe(2);
    expect(stderr).toContain(`process ${child.pid} on`);
  }
  const statuses = async () =>
    (JSON.parse((await installed.hookline(dir, "runs", "--json")).stdout) as { status: string }[]).map((r) => r.status);
  expect(await statuses()).toEqual(["running"]);
  child.kill("SIGKILL");
  await child.ended;
  expect(await statuses()).toEqual(["killed"]);
  rmSync(join(dir, "runs/tiny/run.json"));
  expect(await statuses()).toEqual(["killed"]);
  expect((await installed.hookline(dir, "train")).stderr).toContain("which is running, or was killed");
  const { code } = await installed.hookline(dir, "resume", "runs/tiny", "--set", "hooks.slow.ms=0");
  expect(code).toBe(0);
});

test("resume to fewer epochs than there were: nothing is left to train, and it says why", async () => {
  const dir = installed.project(tinyProject(SLOW.replace("epochs: 3", "epochs: 30")));
  const child = installed.start(dir, "train");
  const journal = join(dir, "runs/tiny/metrics.jsonl");
  await vi.waitFor(() => expect(readFileSync(journal, "utf8")).toContain('"step":8'), { timeout: 300_000 });
  child.kill("SIGINT");
  await child.ended;
  const { code, stderr } = await installed.hookline(dir, "resume", "runs/tiny", "--set", "epochs=1");
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^Nothing was left to train: the run was at step \d+, in epoch \d+, and ends after 1 epoch\.\n$/,
  );
});
