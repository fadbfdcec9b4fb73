// The run of a study from its setup on: what was opened is closed, whatever happens.
import { writeFileSync } from "node:fs";
import type { Hook } from "hookline";
import { expect, test } from "vitest";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { inProcess } from "./runners/in-process.ts";
import type { Runner } from "./runners/runner.ts";
import { uniform } from "./space/uniform.ts";
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
