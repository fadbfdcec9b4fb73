// The progress bar and the console log where there is no terminal: golden output, and silence where it is asked for.
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { BarChild } from "../terminal/bar-child.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("../terminal/bar-child.ts", import.meta.url));

interface Output {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

function run(
  options: Omit<BarChild, "folder">,
  { env = {}, args = [] }: { env?: NodeJS.ProcessEnv; args?: string[] } = {},
): Promise<Output> {
  const { NO_COLOR: _, FORCE_COLOR: __, HOOKLINE_QUIET: ___, ...inherited } = process.env;
  const child = spawn(process.execPath, [script, JSON.stringify({ folder: "", ...options }), ...args], {
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  return new Promise((resolve) => child.on("close", (code) => resolve({ out, err, code })));
}

const bar = { plainEvery: 1 };

describe("without a terminal", () => {
  it("plain lines, and not a control character in them", async () => {
    const { out, err, code } = await run({ bar, test: true });
    await expect(out).toMatchFileSnapshot("../terminal/golden/plain.txt");
    // oxlint-disable-next-line no-control-regex -- none of these may be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F]/);
    expect([err, code]).toEqual(["", 0]);
  });

  it("beside a log of key=value lines, and what others print, in order", async () => {
    const { out } = await run({ bar: { plainEvery: 100 }, logs: true, chatterAt: 12 });
    await expect(out).toMatchFileSnapshot("../terminal/golden/plain-logs.txt");
  });

  it("of a run that fails, and of one that was resumed", async () => {
    const { out } = await run({ bar, failAt: 33, logs: true });
    expect(out).toMatch(/^error at step 33, after 0:03 \(Hook `drive` failed .*the data ran away\)/m);
    const resumed = await run({ bar, resumeAt: 30, logs: true });
    expect(resumed.out).toContain('run="digits" resumedAt=30\n');
    expect(resumed.out).toMatch(/^step 31\/60 .*0:02 elapsed/m);
  });

  it("colours where they are forced", async () => {
    const { out } = await run({ nanAt: 3, logs: true }, { env: { FORCE_COLOR: "1" } });
    expect(out).toContain("\u001B[31mloss=NaN\u001B[39m");
  });

  it.each([
    ["--quiet", { args: ["--quiet"] }],
    ["HOOKLINE_QUIET", { env: { HOOKLINE_QUIET: "1" } }],
  ])("nothing with %s", async (_, how) => {
    expect(await run({ logs: true, test: true }, how)).toEqual({ out: "the program goes on\n", err: "", code: 0 });
  });
});

it("a reader that goes away does not end the run", async () => {
  const child = spawn(process.execPath, [script, JSON.stringify({ bar: { plainEvery: 0.1 } })], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.once("data", () => child.stdout.destroy());
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise((resolve) => void child.on("close", resolve));
  expect([code, err]).toEqual([0, ""]);
});
