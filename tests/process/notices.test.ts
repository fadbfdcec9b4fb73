// Hooks that send notices must not keep the process: whatever the service does, it ends soon after the run.
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { noticeServer, type Mode } from "../support/notice-server.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("./notice-child.ts", import.meta.url));

/** It takes less than 5 s where the machine is free. What hangs would never end. */
const AT_LAST = 60_000;

/** Milliseconds from the end of the run to the end of the process. */
async function lingering(url: string): Promise<number> {
  const child = spawn(process.execPath, [script, url], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise((resolve) => void child.on("close", resolve));
  const gone = Date.now();
  expect(code).toBe(0);
  expect(output).toMatch(/^\d+\n$/);
  return gone - Number(output);
}

describe.concurrent("the process ends soon after the run", { timeout: 2 * AT_LAST }, () => {
  it.for(["ok", "hang", "500", "reset"] as const)("with a service that answers: %s", async (mode: Mode, { expect }) => {
    const server = await noticeServer(mode);
    try {
      const took = await lingering(server.url);
      expect(took).toBeLessThan(AT_LAST);
      expect(server.received.length).toBeGreaterThan(0);
    } finally {
      await server.close();
    }
  });

  it("with a name that does not resolve", async ({ expect }) => {
    expect(await lingering("https://does-not-exist.invalid/x")).toBeLessThan(AT_LAST);
  });
});
