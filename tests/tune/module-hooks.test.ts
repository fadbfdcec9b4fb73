// Hooks that are named by their module's export: made on both sides, each with its own fields and none of the other's.
import { readFileSync } from "node:fs";
import { local } from "hookline/tune";
import { expect, test } from "vitest";
import { plainStudy, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { tempDir } from "../support/temp-dir.ts";

const MODULE = "./tests/tune/hook-module.ts";

const studyOf = (options: PlainOptions): PlainStudy =>
  plainStudy(`${MODULE}#train`, { trials: 1, retries: 0, maxEqualFailures: 1, runner: local(), ...options });

test("a hook is made in each process, with its options, and listens to what happens there", async () => {
  const dir = tempDir();
  const { trials } = await studyOf({ dir, hooks: [{ use: `${MODULE}#fair`, from: 100 }] }).run();
  expect(trials[0]).toMatchObject({ status: "completed", result: { seen: 100, hooks: 1 }, stash: {} });
  expect(readFileSync(`${dir}/trial-000/log.txt`, "utf8")).toContain("step 101\nstep 102\nstep 103\n");
});

const warningsOf = async (use: string): Promise<readonly string[]> => {
  const warnings: string[] = [];
  const { status } = await studyOf({ trials: 2, hooks: [use], warn: (message) => warnings.push(message) }).run();
  expect(status).toBe("completed");
  return warnings;
};

test("a field that a hook changes in the trial's process, which the study does not see, is named in one warning", async () => {
  expect(await warningsOf(`${MODULE}#Counts`)).toEqual([
    "Hook `counts` changed `steps` in a trial's process. In the study's process there is another instance of the hook, which does not see the change: share values through reports or `trial.stash`. What only one side needs can be a private field (`#steps`).",
  ]);
});

test("and so is one that it changes in the study's process", async () => {
  expect(await warningsOf(`${MODULE}#Wishes`)).toEqual([
    "Hook `wishes` changed `wish` in the study's process. In each trial's process there is another instance of the hook, which does not see the change: share values through reports or `trial.stash`. What only one side needs can be a private field (`#wish`).",
  ]);
});

test("a hook that listens on one side only may change its fields", async () => {
  expect(await warningsOf(`${MODULE}#Steps`)).toEqual([]);
});

test("in one process there is one hook for all", async () => {
  const { Counts, train } = await import("./hook-module.ts");
  const counts = new Counts();
  await studyOf({ hooks: [counts], trial: train, runner: undefined }).run();
  expect(counts.steps).toBe(3);
});

test("what cannot be made anew is refused, and what is not there", async () => {
  const run = (use: string): Promise<unknown> => studyOf({ hooks: [use] }).run();
  await expect(run(`${MODULE}#readyMade`)).rejects.toThrow(
    /Expected .*#readyMade to be a class or a function that makes a hook, got an object/,
  );
  await expect(run(`${MODULE}#Count`)).rejects.toThrow(/has no export `Count`\. Did you mean `Counts`\?/);
  await expect(studyOf({ hooks: [{ use: `${MODULE}#fair`, form: 100 }] }).run()).rejects.toThrow(
    "#fair: unknown option `form`. Did you mean `from`? It takes: from.",
  );
  const twice = [`${MODULE}#Counts`, { use: `${MODULE}#Counts` }];
  await expect(studyOf({ hooks: twice }).run()).rejects.toThrow(/There is already a hook named `counts` in this study/);
});
