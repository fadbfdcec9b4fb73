// The demo starts, trains, ends cleanly when it is interrupted, and goes on when it is started again. (Its accuracy takes
// half a minute: `npm run demo`.)
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const examples = fileURLToPath(new URL("../examples", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "hookline-demo-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const read = (file: string): string => readFileSync(join(dir, "runs/mnist", file), "utf8");
const rows = (): { step: number; loss: number }[] =>
  read("metrics.jsonl")
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line) as { step: number; loss: number });

/** Starts the demo, as `npm run demo` does, and interrupts it when its output is like this. */
async function interruptedAt(when: RegExp): Promise<{ output: string; code: number | null; step: number }> {
  const child = spawn(process.execPath, ["--import", "tsx", "mnist/train.ts"], {
    cwd: examples,
    env: { ...process.env, INIT_CWD: dir, CI: "true" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  // Once: a second signal would not wait for the run's own end.
  let interrupted = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (interrupted || !when.test(output)) return;
    interrupted = true;
    child.kill("SIGINT");
  });
  const code = await new Promise<number | null>((resolve) => void child.on("exit", resolve));
  return { output, code, step: Number(/interrupted after (\d+) steps .*SIGINT/.exec(output)?.[1]) };
}

test("the demo ends on SIGINT with its files written and code 130, and goes on", async () => {
  // The second plain line comes after a few seconds: metrics have been logged by then.
  const first = await interruptedAt(/^step \d\d/m);
  expect(first.output).toMatch(/203,530 parameters/);
  expect(first.output).toMatch(/^engine: (?:native|wasm)$/m);
  expect(first.output).toMatch(/run the same command to resume/);
  expect(first.output).toMatch(/^files, in runs\/mnist\/:\n {2}metrics.jsonl, run.json, checkpoints\/, tb\/$/m);
  expect(first.output).toMatch(/npx tsx \S+\/inspect.ts runs\/mnist/);
  expect(first.output).not.toMatch(/going on after/);
  expect(first.step).toBeGreaterThan(1);
  expect(first.code).toBe(130);
  expect(JSON.parse(read("run.json"))).toMatchObject({ status: "interrupted", reason: "SIGINT", step: first.step });
  expect(rows()[0]!.loss).toBeGreaterThan(1);
  expect(rows().at(-1)!.loss).toBeLessThan(1);

  const second = await interruptedAt(/^step \d+/m);
  expect(second.output).toContain(`resuming after step ${first.step}, from runs/mnist/checkpoints/step-`);
  expect(second.step).toBeGreaterThan(first.step);
  const steps = rows().map(({ step }) => step);
  expect(steps[0]).toBe(10);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));

  // A run that is finished makes way for a new one.
  const info = JSON.parse(read("run.json")) as object;
  writeFileSync(join(dir, "runs/mnist/run.json"), JSON.stringify({ ...info, status: "completed" }));
  const third = await interruptedAt(/^step \d+/m);
  expect(third.output).not.toMatch(/going on after/);
  expect(third.step).toBeLessThan(second.step);
  const names = readdirSync(join(dir, "runs/mnist/checkpoints")).filter((name) => !name.startsWith("."));
  expect(names).toEqual([`step-${String(third.step).padStart(6, "0")}`]);
  expect(readdirSync(join(dir, "runs/mnist/tb")), "the curve of that run alone").toHaveLength(1);
});
