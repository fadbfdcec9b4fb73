// How a run stands, from files that a killed process left behind.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcess } from "../../checkpoint/process-mark.ts";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { summarize } from "./run-summary.ts";

/** As `hookline train` leaves it in the middle of a run: its record, and the log of a model. */
function leaveRun(dir: string, model: string, started: string): void {
  const { pid, host } = thisProcess();
  const record = { schema: "hookline.experiment", version: 1, process: { pid, host, started } };
  const log = {
    schema: "hookline.run",
    version: 1,
    status: "running",
    startedAt: 1,
    totalSteps: 10,
    about: { pid, host },
  };
  mkdirSync(`${dir}/${model}`, { recursive: true });
  writeFileSync(`${dir}/experiment.json`, JSON.stringify(record));
  writeFileSync(`${dir}/${model}/run.json`, JSON.stringify(log));
}

test.runIf(process.platform === "linux").each([".", "a", "a/fold-1"])(
  "a log in %s knows from the record when its process began",
  async (model) => {
    const dir = tempDir();
    const status = async (): Promise<string> => (await summarize(dir, join(dir, model)))!.status;
    leaveRun(dir, model, thisProcess().started);
    expect(await status()).toBe("running");
    leaveRun(dir, model, "1");
    expect(await status()).toBe("killed");
  },
);
