// Loggers that send, in processes that are killed or end while the service is down: nothing lost, nothing twice.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { downHalfOfTheTime, type Fault, type FaultyServer } from "../loggers/queue-faults.ts";
import { range, temporaryFolder, textOf } from "../loggers/queue-runs.ts";
import { mlflowServer } from "../support/mlflow-server.ts";
import { parseExtended, wandbServer } from "../support/wandb-server.ts";
import type { LoggersChild } from "./loggers-child.ts";

const script = fileURLToPath(new URL("./loggers-child.ts", import.meta.url));
const KEY = "k".repeat(40);

interface Target {
  readonly server: FaultyServer;
  readonly steps: () => unknown[];
  readonly problems: readonly string[];
}

async function serve(service: LoggersChild["service"]): Promise<Target> {
  if (service === "mlflow") {
    const server = await mlflowServer();
    onTestFinished(() => server.close());
    const steps = (): number[] => server.runs.flatMap(({ metrics }) => metrics.map(({ step }) => step));
    return { server, steps, problems: server.problems };
  }
  const server = await wandbServer();
  onTestFinished(() => server.close());
  const lines = (): string[] => server.runs.get("run-1")?.files.get("wandb-history.jsonl") ?? [];
  return { server, steps: () => lines().map((line) => parseExtended(line)["_step"]), problems: server.problems };
}

interface Outcome {
  readonly code: number | null;
  /** Milliseconds from the end of the run to that of the process. */
  readonly lingered: number;
  readonly output: string;
}

/** `killAfter`: milliseconds from its first step, or never. */
function run(child: Omit<LoggersChild, "apiKey" | "timeout">, killAfter?: number): Promise<Outcome> {
  const options: LoggersChild = { ...child, apiKey: KEY, timeout: 3000 };
  const started = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)]);
  let output = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  for (const stream of [started.stdout, started.stderr]) {
    stream.on("data", (text) => {
      output += String(text);
      if (killAfter !== undefined && output.includes("begun")) {
        timer ??= setTimeout(() => started.kill("SIGKILL"), killAfter);
      }
    });
  }
  return new Promise((resolve) => {
    started.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output, lingered: Date.now() - Number(/end (\d+)/.exec(output)?.[1]) });
    });
  });
}

const services = ["wandb", "mlflow"] as const;

describe.for(services)("%s", (service) => {
  it("loses nothing and sends nothing twice, however often it is killed", { timeout: 120_000 }, async () => {
    const { server, steps, problems } = await serve(service);
    server.fault = downHalfOfTheTime;
    const dir = temporaryFolder();
    const child = { service, url: server.url, dir, steps: 5000 };
    const seen: number[] = [];
    for (let kill = 0; kill < 8; kill++) {
      await run(child, 60 + 23 * kill);
      seen.push(steps().length);
    }
    server.fault = () => "ok";
    expect((await run(child)).code).toBe(0);
    // Killed while some had arrived, more each time, and not all.
    expect(new Set(seen).size).toBeGreaterThan(3);
    expect(seen.at(-1)).toBeLessThan(5000);
    expect(steps()).toEqual(range(1, 5000));
    expect(problems).toEqual([]);
  });

  it.for(["hang", "500", "down"] as const)(
    "ends within 5 s of the run, and what could not be sent goes out at the next start: %s",
    { timeout: 60_000 },
    async (fault: Fault) => {
      const { server, steps } = await serve(service);
      server.fault = () => fault;
      const dir = temporaryFolder();
      const first = await run({ service, url: server.url, dir, steps: 300 });
      expect(first.code).toBe(0);
      expect(first.lingered).toBeLessThan(5000);
      expect(first.output).toMatch(/301 records could not be sent before the end\. They wait in/);
      expect(steps()).toEqual([]);
      expect(first.output + textOf(dir)).not.toContain(KEY);
      server.fault = () => "ok";
      const second = await run({ service, url: server.url, dir, steps: 301 });
      expect(second.lingered).toBeLessThan(2000);
      expect(steps()).toEqual(range(1, 301));
    },
  );
});
