// How a run stands, from files that a killed process left behind.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { thisProcess } from "../../runs/liveness.ts";
import { tempDir } from "../../../tests/support/temp-dir.ts";
import { summarize } from "./run-summary.ts";

/** As a run leaves it in the middle: its log. */
function leaveRun(dir: string, started: string): void {
  const about = { ...thisProcess(), started };
  const log = { schema: "hookline.run", version: 1, status: "running", startedAt: 1, totalSteps: 10, about };
  writeFileSync(`${dir}/run.json`, JSON.stringify(log));
}

test.runIf(process.platform === "linux")("a run whose pid another process has now was killed", async () => {
  const dir = tempDir();
  const status = async (): Promise<string> => (await summarize(dir, dir))!.status;
  leaveRun(dir, thisProcess().started);
  expect(await status()).toBe("running");
  leaveRun(dir, "1");
  expect(await status()).toBe("killed");
});
