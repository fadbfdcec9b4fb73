// What ends a process from inside or from its terminal: the run saves its state first, and the process ends as it would have.
import { existsSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder } from "../crash/strace.ts";
import { compileTraining, intactCheckpoints, startTraining, train } from "../crash/training.ts";

const SIZE = { steps: 1_000_000, features: 16 };

const home = newFolder();
beforeAll(() => compileTraining(home));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("an error that nothing catches", () => {
  it.each([
    ["from a timer", "timer"],
    ["from a timer that fails again and again", "timers"],
    ["from a promise", "rejection"],
  ] as const)("%s: a checkpoint is saved, then Node ends the process", async (_, uncaught) => {
    const runDir = `${home}/${uncaught}`;
    const child = startTraining(home, { runs: [{ runDir, uncaught }], ...SIZE });
    const { code, signal } = await child.exit;
    expect({ code, signal }).toEqual({ code: 1, signal: null });
    expect(child.errors()).toMatch(/Error: nothing catches this\n {4}at (?:Timeout\.)?fail .*training-child\.js/);
    expect(child.errors()).toContain(`Node.js ${process.version}`);
    // Nothing of the program comes after it, such as what follows on `await trainer.fit()`.
    expect(child.notes.map(({ note }) => note)).not.toContain("result");
    const { reason, step } = (await intactCheckpoints(runDir)).at(-1)!;
    expect(reason).toBe("emergency");
    expect(step).toBeGreaterThanOrEqual(10);
    expect(existsSync(`${runDir}/checkpoints/.lock`)).toBe(false);
    const resumed = await train(home, { runs: [{ runDir, resume: true }], ...SIZE, steps: step + 5 });
    expect(resumed.end).toMatchObject({ status: "completed", resumedAt: step });
  });

  it("is left to the program's own handler, and the run goes on", async () => {
    const runDir = `${home}/own`;
    const child = startTraining(home, { runs: [{ runDir, uncaught: "timer", ownHandler: true }], ...SIZE, steps: 200 });
    expect((await child.until("result")).end).toMatchObject({ status: "completed" });
    expect(child.errors()).toContain("own handler: nothing catches this");
    expect((await child.exit).code).toBe(0);
  });
});

it("SIGHUP ends a run as SIGTERM does, with 129", async () => {
  const runDir = `${home}/hangup`;
  const child = startTraining(home, { runs: [{ runDir }], ...SIZE });
  await child.until("running");
  child.signal("SIGHUP");
  const { end, step } = await child.until("result");
  expect(end).toMatchObject({ status: "interrupted" });
  expect(await child.exit).toMatchObject({ code: 129, signal: null });
  expect((await intactCheckpoints(runDir)).at(-1)).toMatchObject({ reason: "emergency", step });
});
