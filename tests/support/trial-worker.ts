// `hookline worker` as a process of its own, from the sources: to be stopped, or killed with its trials.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface TrialWorker {
  /** Resolves when it works for a study. */
  readonly working: Promise<void>;
  readonly exit: Promise<number | null>;
  said(): string;
  signal(name: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** @param clockMs by which its clock is wrong */
export function startWorker(
  redis: string,
  study: string,
  concurrency = 1,
  more: readonly string[] = [],
  clockMs = 0,
): TrialWorker {
  const flags = ["--redis", redis, "--study", study, "--concurrency", String(concurrency), ...more];
  const clock = clockMs === 0 ? [] : ["--import", `${root}tests/tune/clock-module.ts`];
  const child = spawn(process.execPath, ["--import", "tsx", ...clock, `${root}src/cli/main.ts`, "worker", ...flags], {
    cwd: root,
    // Who started us may have named it from where it was.
    env: { ...process.env, TSX_TSCONFIG_PATH: `${root}tsconfig.json`, CLOCK_OFFSET_MS: String(clockMs) },
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
