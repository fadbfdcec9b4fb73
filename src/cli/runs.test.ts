// What `hookline runs` prints of runs on the disk.
import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { onTerminal } from "../../tests/support/on-terminal.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { run } from "./runs.ts";

beforeEach(() => void vi.stubEnv("NO_COLOR", "1"));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Leaves a finished run with these metrics after its 40 steps. */
function leaveRun(dir: string, metrics: Readonly<Record<string, number | string>>): void {
  mkdirSync(dir, { recursive: true });
  const info = { status: "completed", startedAt: 1e12, totalSteps: 40, step: 40, elapsed: 61, about: {} };
  writeFileSync(`${dir}/run.json`, JSON.stringify({ schema: "hookline.run", version: 1, ...info }));
  const lines = [
    { schema: "hookline.metrics", version: 1, run: "a", startedAt: 1e12 },
    { step: 40, epoch: 0, time: 1e12, elapsed: 61, ...metrics },
  ];
  writeFileSync(`${dir}/metrics.jsonl`, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

async function printed(dir: string, flags: Partial<Parameters<typeof run>[1]>): Promise<string[]> {
  let out = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((out += String(text)), true));
  await run(dir, { sort: "name", ...flags });
  vi.restoreAllMocks();
  return out.trimEnd().split("\n");
}

test("a run whose loss is no number says so, and is the last by it", async () => {
  const dir = tempDir();
  leaveRun(`${dir}/a`, { "val/loss": "NaN" });
  expect(await printed(dir, {})).toEqual([
    "run  status      steps   val/loss   time  started",
    "a    completed      40    NaN @40   1:01  2001-09-09 01:46",
  ]);
  leaveRun(`${dir}/b`, { "val/loss": 0.5 });
  leaveRun(`${dir}/c`, { "val/loss": 0.25 });
  const names = (await printed(dir, { sort: "val/loss" })).map((line) => line.split(" ")[0]);
  expect(names).toEqual(["run", "c", "b", "a"]);
});

test("on a narrow terminal names, status and the first metric stay", async () => {
  const dir = tempDir();
  const metrics = { "val/loss": 0.25, "val/accuracy": 0.5, "val/top5": 0.75, "val/perplexity": 1.284 };
  leaveRun(`${dir}/digits-with-a-long-name`, metrics);
  onTerminal(80);
  expect(await printed(dir, {})).toEqual([
    "run                      status       val/loss   val/accuracy    val/top5",
    "digits-with-a-long-name  completed  0.2500 @40     50.00% @40  75.00% @40",
    "(no room for: steps, val/perplexity, time, started)",
  ]);
  onTerminal(60);
  // Without the second metric, which is wider, there is room for the third.
  expect(await printed(dir, {})).toEqual([
    "run                      status       val/loss    val/top5",
    "digits-with-a-long-name  completed  0.2500 @40  75.00% @40",
    "(no room for: steps, val/accuracy, val/perplexity, time, started)",
  ]);
});

test("a run.json that cannot be read is named", async () => {
  const dir = tempDir();
  leaveRun(`${dir}/a`, { "val/loss": 0.5 });
  mkdirSync(`${dir}/torn`);
  writeFileSync(`${dir}/torn/run.json`, '{"schema":"hookline.run","ver');
  let said = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((said += String(text)), true));
  expect(await printed(dir, {})).toHaveLength(2);
  expect(said).toMatch(/torn: its run\.json cannot be read, so it is not in the list\.\n$/);
});
