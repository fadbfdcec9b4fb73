// The search of examples/sweep from its file, made short: a few trials of a few epochs.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "sweep-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("the sweep runs, and leaves its report", () => {
  const changes = ["trials=3", "concurrency=1", "experiment.epochs=4", `dir=${join(dir, "study")}`];
  const args = ["--import", "tsx", "src/cli/main.ts", "tune", "examples/sweep/sweep.yaml"];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...args, ...changes.flatMap((set) => ["--set", set])],
    { cwd: root, encoding: "utf8", env: { ...process.env, CI: "true" } },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.match(/^trial \d (completed|pruned): val\/accuracy [\d.]+%, step \d+/gm)).toHaveLength(3);
  expect(stdout).toContain("completed (3 trials).");
  expect(existsSync(join(dir, "study/report.html"))).toBe(true);
});
