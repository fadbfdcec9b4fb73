// A controlled training that is killed again and again: no command is lost, none is carried out twice. `npm run soak` sends
// a thousand.
import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { readControl, sendCommand } from "../../src/runs/index.ts";
import { startNoting } from "../support/noting-child.ts";
import { compiled } from "../support/programs.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { ControlNote } from "./control-child.ts";
import { CHILD, killControlled } from "./control-kills.ts";

test("eight kills, between journal, verb and file, and during pauses: every command once", async () => {
  const tally = await killControlled(8, 3);
  console.info(`commands: ${JSON.stringify(tally)}`);
  expect(tally).toMatchObject({ kills: 8, sent: 24, lost: 0, twice: 0, inOrder: true });
  expect(tally.applied + tally.expired).toBe(24);
  expect(tally.applied).toBeGreaterThan(8);
});

test("Ctrl-C during a pause: exit code 130, and a checkpoint of the step", async () => {
  const runDir = tempDir();
  const child = startNoting<ControlNote>([compiled(CHILD), runDir]);
  await child.until("saved");
  while (!existsSync(`${runDir}/control/hello.json`)) await sleep(5);
  await sendCommand(runDir, { verb: "pause" });
  await child.until("paused");
  const { hello } = await readControl(runDir);
  expect(hello!.state).toBe("paused");
  child.signal("SIGINT");
  expect((await child.until("result")).status).toBe("interrupted");
  expect((await child.exit).code, child.errors()).toBe(130);
  expect(readdirSync(`${runDir}/checkpoints`)).toContain(`step-${String(hello!.step).padStart(6, "0")}`);
  expect((await readControl(runDir)).hello!.state).toBe("ended");
});
