// Loggers that send, in processes that are killed or end while the service is down: nothing lost, nothing twice.
import { spawn } from "node:child_process";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { downHalfOfTheTime, type Fault, type FaultyServer } from "../loggers/queue-faults.ts";
import { range, temporaryFolder, textOf } from "../loggers/queue-runs.ts";
import { mlflowServer } from "../support/mlflow-server.ts";
import { parseExtended, wandbServer } from "../support/wandb-server.ts";
import type { LoggersChild } from "./loggers-child.ts";
import { compiled } from "../support/programs.ts";

const script = compiled(new URL("./loggers-child.ts", import.meta.url));
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

type Child = Omit<LoggersChild, "apiKey" | "timeout">;

function start(child: Child): { readonly kill: () => void; readonly ended: Promise<Outcome> } {
  const options: LoggersChild = { ...child, apiKey: KEY, timeout: 3000 };
  const started = spawn(process.execPath, [script, JSON.stringify(options)]);
  let output = "";
  for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (output += String(text)));
  const ended = new Promise<Outcome>((resolve) => {
    started.on("close", (code) =>
      resolve({ code, output, lingered: Date.now() - Number(/end (\d+)/.exec(output)?.[1]) }),
    );
  });
  return { kill: () => void started.kill("SIGKILL"), ended };
}

const run = (child: Child): Promise<Outcome> => start(child).ended;

/** Far more than the few seconds that it takes: a busy machine may need several times as long. */
const AT_LAST = 60_000;

const services = ["wandb", "mlflow"] as const;

describe.for(services)("%s", (service) => {
  it("loses nothing and sends nothing twice, however often it is killed", async () => {
    const { server, steps, problems } = await serve(service);
    server.fault = downHalfOfTheTime;
    const child = { service, url: server.url, dir: temporaryFolder() };
    const seen: number[] = [];
    for (let kill = 1; kill <= 8; kill++) {
      const before = steps().length;
      const { kill: end, ended } = start({ ...child, steps: 500 * kill, waits: true });
      // When more has arrived than before: anywhere between a part of what waits and all that was logged.
      await vi.waitFor(() => expect(steps().length).toBeGreaterThan(before), { timeout: AT_LAST, interval: 1 });
      end();
      await ended;
      seen.push(steps().length);
    }
    server.fault = () => "ok";
    expect((await run({ ...child, steps: 5000 })).code).toBe(0);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.at(-1)).toBeLessThan(5000);
    expect(steps()).toEqual(range(1, 5000));
    expect(problems).toEqual([]);
  });

  it.for(["hang", "500", "down"] as const)(
    "ends though nothing can be sent, and what could not be goes out at the next start: %s",
    { timeout: 3 * AT_LAST },
    async (fault: Fault) => {
      const { server, steps } = await serve(service);
      server.fault = () => fault;
      const dir = temporaryFolder();
      const first = await run({ service, url: server.url, dir, steps: 300 });
      expect(first.code).toBe(0);
      // Within 4 s where the machine is free; what matters is that it does not wait for the service.
      expect(first.lingered).toBeLessThan(AT_LAST);
      expect(first.output).toMatch(/301 records could not be sent before the end\. They wait in/);
      expect(steps()).toEqual([]);
      expect(first.output + textOf(dir)).not.toContain(KEY);
      server.fault = () => "ok";
      await run({ service, url: server.url, dir, steps: 301 });
      expect(steps()).toEqual(range(1, 301));
    },
  );
});
