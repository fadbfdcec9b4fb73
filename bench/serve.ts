// A trained model behind HTTP: one client that asks for one row at a time, and 200 clients at once, whose rows are batched;
// beside onnxruntime-node, which serves the exported model.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { load, type LoadResult } from "./lib/http-load.ts";
import type { Report } from "./lib/report.ts";
import { bodies, trainServed } from "./lib/served-model.ts";
import { median, quantile } from "./lib/stats.ts";

const CLIENTS = 200;
const SECONDS = 30;
/** For what is compared with it. */
const SHORT_SECONDS = 10;
const WARM_UP_SECONDS = 2;
const ROUNDS = 9;

/** By the sizes of the hidden layers. */
const MODELS: Readonly<Record<string, readonly number[]>> = {
  "64-32": [64, 32],
  "512-256": [512, 256],
};

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

interface Served {
  readonly port: number;
  end(): Promise<void>;
}

/** Starts a program that prints its address, and ends with SIGTERM. */
async function start(script: string, args: readonly string[]): Promise<Served> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let text = "";
  child.stdout.on("data", (chunk) => (text += String(chunk)));
  for (;;) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (port !== undefined)
      return {
        port: Number(port),
        async end() {
          child.kill("SIGTERM");
          await ended;
        },
      };
    if (child.exitCode !== null) throw new Error(`${script} ended at once: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function measure(served: Promise<Served>, clients: number, seconds: number): Promise<LoadResult> {
  const { port, end } = await served;
  const asked = bodies(256, 5);
  try {
    await load(port, asked, clients, WARM_UP_SECONDS);
    return await load(port, asked, clients, seconds);
  } finally {
    await end();
  }
}

/** How many times as much 200 clients get as one: in turns, so that a busy moment of the machine meets both. */
async function gain(served: Promise<Served>): Promise<number> {
  const { port, end } = await served;
  const asked = bodies(256, 5);
  try {
    await load(port, asked, CLIENTS, WARM_UP_SECONDS);
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const one = await load(port, asked, 1, 1);
      ratios.push(rate(await load(port, asked, CLIENTS, 1)) / rate(one));
    }
    return median(ratios);
  } finally {
    await end();
  }
}

const rate = ({ requests, seconds }: LoadResult): number => requests / seconds;

function row(label: string, result: LoadResult): readonly [string, ...number[]] {
  const latencies = [...result.latencies];
  return [label, rate(result), quantile(latencies, 0.5), quantile(latencies, 0.99), result.errors];
}

async function serveModel(name: string, hidden: readonly number[], home: string): Promise<Report> {
  const runDir = join(home, name);
  await trainServed(runDir, hidden);
  const main = here("../src/cli/main.js");
  const hookline = (...flags: readonly string[]): Promise<Served> =>
    start(main, ["serve", runDir, "--port", "0", ...flags]);
  const onnx = (): Promise<Served> => start(here("./lib/onnx-server.js"), [join(home, `${name}-onnx`)]);
  await exportOnnx(main, runDir, join(home, `${name}-onnx`));
  const ratio = await gain(hookline());
  const one = await measure(hookline(), 1, SHORT_SECONDS);
  const many = await measure(hookline(), CLIENTS, SECONDS);
  const alone = await measure(hookline("--max-batch", "1"), CLIENTS, SHORT_SECONDS);
  const others = { one: await measure(onnx(), 1, SHORT_SECONDS), many: await measure(onnx(), CLIENTS, SHORT_SECONDS) };
  return {
    name: `serve-${name}`,
    title: `serve: rows over HTTP, a network of ${hidden.join(" and ")} on 20 columns`,
    columns: ["requests/s", "p50 ms", "p99 ms", "errors"],
    rows: [
      row("one client, one row at a time", one),
      row(`${CLIENTS} clients for ${SECONDS} s`, many),
      row(`${CLIENTS} clients, without batches`, alone),
      row("onnxruntime-node, one client", others.one),
      row(`onnxruntime-node, ${CLIENTS} clients`, others.many),
    ],
    aims: [
      { what: `${name}: errors of ${CLIENTS} clients`, measured: many.errors, unit: "", limit: 0, must: true },
      {
        what: `${name}: throughput of ${CLIENTS} clients`,
        measured: ratio,
        unit: "× one row at a time",
        limit: 5,
        atLeast: true,
        must: true,
      },
    ],
  };
}

async function exportOnnx(main: string, runDir: string, folder: string): Promise<void> {
  const child = spawn(process.execPath, [main, "export", runDir, folder, "--format", "onnx"], { stdio: "inherit" });
  await once(child, "exit");
  if (!existsSync(join(folder, "model.onnx"))) throw new Error("the model was not exported");
}

export async function run(): Promise<Report[]> {
  const home = mkdtempSync(join(tmpdir(), "hookline-serve-"));
  try {
    const reports: Report[] = [];
    for (const [name, hidden] of Object.entries(MODELS)) reports.push(await serveModel(name, hidden, home));
    return reports;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
