// Trials in processes of their own: warm, watched, and started again where they stood.
import { existsSync, readFileSync } from "node:fs";
import type { Hook } from "hookline";
import { local, StudyError, type LocalOptions } from "hookline/tune";
import { expect, test } from "vitest";
import { plainStudy, trialNamed, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { tempDir } from "../support/temp-dir.ts";

const studyOf = (
  name: string,
  { runner, ...options }: Omit<PlainOptions, "runner"> & { readonly runner?: LocalOptions } = {},
): PlainStudy => plainStudy(trialNamed(name), { trials: 2, runner: local(runner), ...options });

test("processes are warm, logs are captured, and what JSON cannot say gets across", async () => {
  const dir = tempDir();
  const results: number[] = [];
  const hook: Hook = { name: "h", onTrialResult: (ctx) => void results.push(ctx.result.loss!) };
  const study = studyOf("tells", { dir, hooks: [hook], trials: 3 });
  const { trials } = await study.run();
  expect(new Set(trials.map(({ result }) => result!.pid)).size).toBe(1);
  expect(trials[0]!.result!.pid).not.toBe(process.pid);
  expect(results).toEqual([NaN, NaN, NaN]);
  expect(trials.map(({ stash }) => stash)).toEqual([{ seen: [0] }, { seen: [0] }, { seen: [0] }]);
  for (const { number, params } of trials) {
    const log = readFileSync(`${dir}/trial-00${number}/log.txt`, "utf8");
    expect(log).toContain(`x is ${String(params.x)}`);
    expect(log.match(/seed is/g)).toHaveLength(1);
  }
});

test("several at once, and processes that are replaced", async () => {
  const study = studyOf("tells", { dir: tempDir(), trials: 6, runner: { processes: 2, recycle: 2 } });
  const { trials } = await study.run();
  expect(trials.every(({ status }) => status === "completed")).toBe(true);
  expect(new Set(trials.map(({ result }) => result!.pid)).size).toBeGreaterThanOrEqual(3);
});

test("a trial whose process is killed goes on from its checkpoint, and every step is counted once", async () => {
  const dir = tempDir();
  const { trials } = await studyOf("diesOnce", { dir, trials: 1 }).run();
  expect(trials[0]).toMatchObject({ status: "completed", attempts: 2, failures: 1 });
  expect(trials[0]!.reports.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const done = readFileSync(`${dir}/trial-000/steps.txt`, "utf8").trim().split("\n").map(Number);
  // The fifth checkpoint had not been told of.
  expect(done).toEqual([1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10]);
});

test("limits: a trial that takes too long or too much has failed, and says why", async () => {
  const failed: string[] = [];
  const hook: Hook = { name: "h", onTrialError: ({ error }) => void failed.push(error.message) };
  const once = { trials: 1, retries: 0, hooks: [hook] };
  await studyOf("hangs", { ...once, runner: { timeout: 1.5 } }).run();
  await studyOf("hogs", { ...once, runner: { memory: 300 } }).run();
  expect(failed[0]).toBe("The process of the trial is gone: it did not end within 1.5 s (`timeout`).");
  expect(failed[1]).toMatch(/it used \d+ MB, more than its 300 MB \(`memory`\)/);
});

test("an error is that of the trial; equal ones end the study and are shown once", async () => {
  const study = studyOf("crashes", { trials: 20 });
  await expect(study.run()).rejects.toThrow(
    new StudyError("Study: 3 trials in a row have failed alike, so it ends here: RangeError: no such width"),
  );
  expect(study.trials).toHaveLength(3);
  const dir = tempDir();
  const { trials } = await studyOf("flaky", { dir }).run();
  expect(trials.map(({ status, failures }) => [status, failures])).toEqual([
    ["completed", 1],
    ["completed", 1],
  ]);
});

test("an abort ends the study at the next report, and the trial goes on another time", async () => {
  const controller = new AbortController();
  const dir = tempDir();
  const hook: Hook = { name: "h", onTrialResult: ({ trialStep }) => void (trialStep === 3 && controller.abort()) };
  const study = studyOf("steps", { dir, hooks: [hook], trials: 1 });
  const first = await study.run({ signal: controller.signal });
  expect(first).toMatchObject({ status: "interrupted", best: undefined });
  expect(first.trials[0]!.status).toBe("interrupted");
  const { status, trials } = await studyOf("steps", { dir, trials: 1 }).run();
  expect(status).toBe("completed");
  expect(trials[0]!.reports).toHaveLength(10);
  expect(existsSync(`${dir}/.lock`)).toBe(false);
});

test("mistakes are errors that say what to do", async () => {
  const bad = (name: string): Promise<unknown> => studyOf(name, { trials: 1, retries: 0, maxEqualFailures: 1 }).run();
  await expect(bad("stepz")).rejects.toThrow(/has no export `stepz`\. Did you mean `steps`\?/);
  await expect(bad("notAFunction")).rejects.toThrow(/Expected `trial` .* to be a function, got `5`/);
  const closure = plainStudy(() => ({ loss: 1 }), { trials: 1, runner: local() });
  await expect(closure.run()).rejects.toThrow(/Export it from a module and name that/);
  const deaf: Hook = { name: "deaf", onStepEnd: () => undefined };
  await expect(studyOf("tells", { hooks: [deaf] }).run()).rejects.toThrow(
    /Hook `deaf` listens to `stepEnd`, but trials run in processes of their own/,
  );
});
