// A real debugger is attached: it pauses where the docs say.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("debug({ breakpoint: true }) pauses at the step that is not finite, and at no other", async () => {
  const child = fileURLToPath(new URL("debug-breakpoint-child.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", child]);
  expect(JSON.parse(stdout)).toEqual([3]);
});
