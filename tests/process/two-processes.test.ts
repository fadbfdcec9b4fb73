// Two training processes on one run directory: the second is turned away before its first step, unless the first is dead.
import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../crash/strace.ts";
import { compileTraining, intactCheckpoints, startTraining, train } from "../crash/training.ts";

const SIZE = { steps: 40, features: 16 };

const home = newFolder();
beforeAll(() => compileTraining(home));
afterAll(() => rmSync(home, { recursive: true, force: true }));

it.each([
  ["a new run", false],
  ["one that wants to resume", true],
])("turns away %s, and takes over the lock of one that was killed", async (_, resume) => {
  const runDir = `${home}/shared-${resume}`;
  const first = startTraining(home, { runs: [{ runDir }], ...SIZE, steps: 1_000_000 });
  onTestFinished(() => void first.signal("SIGKILL"));
  const lock = `${runDir}/checkpoints/.lock`;
  await first.until("saved");
  const holder = JSON.parse(readFileSync(lock, "utf8")) as { pid: number };

  const second = startTraining(home, { runs: [{ runDir, resume }], ...SIZE, tellSteps: true });
  const { error, step } = await second.until("failed");
  expect(error).toMatchObject({ type: "CheckpointError", file: lock });
  expect(error!.message).toMatch(
    /\.lock: process \d+ on \S+ uses the directory since \S+Z\. Wait for it or stop it, or give this run another directory\.$/,
  );
  expect(error!.message).toContain(`process ${holder.pid} `);
  expect(step).toBe(0);
  expect(second.notes.map(({ note }) => note)).not.toContain("step");
  await second.exit;

  first.signal("SIGKILL");
  await first.exit;
  expect(JSON.parse(readFileSync(lock, "utf8"))).toEqual(holder);
  const steps = (await intactCheckpoints(runDir)).at(-1)!.step + 20;
  const third = await train(home, { runs: [{ runDir, resume }], ...SIZE, steps });
  const { end } = third;
  expect(third).toMatchObject({ step: steps, end: { status: "completed", warnings: [] } });
  expect(end!.resumedAt).toBe(resume ? steps - 20 : 0);
  expect(end!.checkpoints.filter((name) => name.startsWith("."))).toEqual([]);
});
