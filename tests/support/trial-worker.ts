// `hookline worker` as a process of its own: to be stopped, or killed with its trials.
import { spawn } from "node:child_process";
import { compiled } from "./programs.ts";
import { root } from "./sources.ts";

export interface TrialWorker {
  /** Resolves when it works for a study. */
  readonly working: Promise<void>;
  readonly exit: Promise<number | null>;
  said(): string;
  signal(name: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
}

const HOOKLINE = compiled(new URL("../../src/cli/main.ts", import.meta.url));
const CLOCK = compiled(new URL("../tune/clock-module.ts", import.meta.url));

/** @param clockMs by which its clock is wrong */
export function startWorker(
  redis: string,
  study: string,
  concurrency = 1,
  more: readonly string[] = [],
  clockMs = 0,
): TrialWorker {
  const flags = ["--redis", redis, "--study", study, "--concurrency", String(concurrency), ...more];
  const clock = clockMs === 0 ? [] : ["--import", CLOCK];
  const child = spawn(process.execPath, [...clock, HOOKLINE, "worker", ...flags], {
    cwd: root,
    env: { ...process.env, CLOCK_OFFSET_MS: String(clockMs) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  let isWorking = (): void => undefined;
  const working = new Promise<void>((resolve) => (isWorking = resolve));
  child.stderr.on("data", (bytes) => {
    said += String(bytes);
    if (said.includes("Working for")) isWorking();
  });
  return {
    working,
    exit: new Promise((resolve) => child.on("close", (code) => resolve(code))),
    said: () => said,
    signal: (name) => void child.kill(name),
  };
}
