// The run of a study from its setup on: what was opened is closed, whatever happens; and what it warns of.
import { writeFileSync } from "node:fs";
import type { Hook } from "hookline";
import { expect, test } from "vitest";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { inProcess } from "./runners/in-process.ts";
import type { Runner } from "./runners/runner.ts";
import { asha } from "./schedulers/asha.ts";
import { uniform } from "./space/parameters.ts";
import { Study } from "./study.ts";

test("a runner is not left open when what hooks have kept cannot be read", async () => {
  const dir = tempDir();
  const hook: Hook = { name: "counter", onTrialStart: () => undefined, state: () => ({ json: 1 }) };
  const run = (runner = inProcess()): Promise<unknown> =>
    new Study({
      space: { x: uniform(0, 1) },
      objective: "loss",
      trials: 2,
      trial: ({ params }) => ({ loss: params.x }),
      signals: false,
      dir,
      hooks: [hook],
      runner,
    }).run();
  await run();
  writeFileSync(`${dir}/hooks.json`, '{"counter":');
  let open = 0;
  const runner: Runner = {
    ...inProcess(),
    open: () => void open++,
    close: () => Promise.resolve(void open--),
  };
  await expect(run(runner)).rejects.toThrow(/hooks\.json is damaged\. Remove it/);
  expect(open).toBe(0);
});

test("trials that go beyond the scheduler's steps: one warning, with both numbers", async () => {
  const warnings: string[] = [];
  const run = (steps: number): Promise<unknown> =>
    new Study({
      space: { x: uniform(0, 1) },
      objective: "loss",
      trials: 3,
      scheduler: asha({ grace: 1, maxSteps: 9 }),
      signals: false,
      warn: (message) => void warnings.push(message),
      async trial({ params, report }) {
        for (let step = 3; step <= steps; step += 3) await report({ loss: params.x }, step);
      },
    }).run();
  await run(9);
  expect(warnings).toEqual([]);
  await run(12);
  expect(warnings).toEqual([
    "asha: trial 0 reported step 12, but `maxSteps` is 9: beyond it no trial is ended early. Set `maxSteps` to the steps that a whole trial reports; a training reports optimizer steps, not epochs.",
  ]);
});
