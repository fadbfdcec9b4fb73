// The demo starts, trains, and ends cleanly when it is interrupted. (Its accuracy takes half a minute: `npm run demo`.)
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const examples = fileURLToPath(new URL("../examples", import.meta.url));

test("the demo ends on SIGINT with its files written and code 130", { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), "hookline-demo-"));
  try {
    const child = spawn(process.execPath, ["--import", "tsx", "mnist/train.ts"], {
      cwd: examples,
      env: { ...process.env, INIT_CWD: dir, CI: "true" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      // Several lines in: the metrics have been logged by then.
      if (/^step \d\d/m.test((output += text))) child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => void child.on("exit", resolve));
    expect(output).toMatch(/203,530 parameters/);
    expect(output).toMatch(/interrupted after \d+ steps .*SIGINT/);
    expect(output).toMatch(/files: runs\/mnist\/metrics.jsonl and result.json/);
    expect(code).toBe(130);
    const read = (file: string): string => readFileSync(join(dir, "runs/mnist", file), "utf8");
    expect(JSON.parse(read("result.json"))).toMatchObject({ status: "interrupted", reason: "SIGINT" });
    const rows = read("metrics.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { loss: number });
    expect(rows[0]!.loss).toBeGreaterThan(1);
    expect(rows.at(-1)!.loss).toBeLessThan(1);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
