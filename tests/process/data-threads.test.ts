// A run whose batches are made in threads is the run without them, and the threads do not outlive what the program does.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("./data-threads-child.ts", import.meta.url));

async function losses(how: "threads" | "plain"): Promise<number[]> {
  // Killed, and an error, if it does not end by itself.
  const child = await promisify(execFile)(process.execPath, ["--import", "tsx", script, how], { timeout: 600_000 });
  expect(child.stderr).toBe("");
  return JSON.parse(child.stdout) as number[];
}

test("the same losses in training and evaluation, and an end", async () => {
  const plain = await losses("plain");
  expect(plain).toHaveLength(3 * 9 + 3);
  expect(await losses("threads")).toEqual(plain);
});
