// The pool of warm processes: what waits for one when it is closed must not start another.
import { expect, test } from "vitest";
import { HooklineError } from "../../core/errors.ts";
import { ProcessPool } from "./trial-processes.ts";
import type { TrialHost, TrialJob } from "./runner.ts";

const job: TrialJob = {
  number: 0,
  params: { x: 1 },
  seed: 0,
  attempt: 0,
  runDir: undefined,
  resume: undefined,
  stash: {},
  objectives: ["loss"],
};

test("one that is closed starts no more processes, for those who wait and for those who come later", async () => {
  const pool = new ProcessPool({ size: 1, recycle: 50, memory: undefined, timeout: undefined });
  const taken: ((reason: string) => void)[] = [];
  const host: TrialHost = {
    signal: new AbortController().signal,
    report: () => Promise.resolve({ kind: "continue" }),
    checkpoint: () => Promise.resolve(),
  };
  const attempt = (): Promise<unknown> =>
    pool
      .run("./tests/tune/trial-module.ts#hangs", process.cwd(), job, host, (kill) => void taken.push(kill))
      .catch((error: unknown) => error);
  const attempts = [attempt(), attempt(), attempt()];
  await expect.poll(() => taken.length).toBe(1);
  await pool.close("the study has ended");
  attempts.push(attempt());
  try {
    expect(await Promise.all(attempts)).toEqual([
      new HooklineError("The process of the trial is gone: the study has ended."),
      ...Array.from({ length: 3 }, () => new HooklineError("The trial did not begin: the study has ended.")),
    ]);
    expect(taken).toHaveLength(1);
  } finally {
    for (const kill of taken) kill("the test is over");
  }
});
