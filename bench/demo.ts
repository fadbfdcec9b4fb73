// The demo from its start to its end, as it is and without the native engine.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Report } from "./lib/report.ts";

const ROUNDS = 3;

const beside = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

interface Run {
  readonly seconds: number;
  readonly accuracy: number;
  readonly engine: string;
}

async function demo(...preload: readonly string[]): Promise<Run> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const begun = performance.now();
  try {
    const args = [
      "--import",
      "tsx",
      ...preload.flatMap((file) => ["--import", file]),
      beside("../examples/mnist/train.ts"),
    ];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, INIT_CWD: dir } });
    return {
      seconds: (performance.now() - begun) / 1000,
      accuracy: Number(/test accuracy: ([\d.]+)/.exec(stdout)?.[1]),
      engine: /engine: (\w+)/.exec(stdout)?.[1] ?? "unknown",
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const middle = (runs: readonly Run[]): Run => runs.toSorted((a, b) => a.seconds - b.seconds)[runs.length >> 1]!;

export async function run(): Promise<Report> {
  const rounds = { auto: [] as Run[], wasm: [] as Run[] };
  for (let round = 0; round < ROUNDS; round++) {
    rounds.auto.push(await demo());
    rounds.wasm.push(await demo(beside("./lib/without-native.ts")));
  }
  const [auto, wasm] = [middle(rounds.auto), middle(rounds.wasm)];
  if (wasm.engine !== "wasm") throw new Error(`the demo without onnxruntime-node ran on ${wasm.engine}`);
  return {
    name: "demo",
    title: "demo: MNIST from the start of the process to its end",
    columns: ["seconds", "test accuracy %"],
    rows: [auto, wasm].map(({ engine, seconds, accuracy }) => [engine, seconds, accuracy]),
    aims: [
      { what: "test accuracy", measured: auto.accuracy, unit: "%", limit: 97, atLeast: true, must: true },
      { what: "test accuracy on wasm", measured: wasm.accuracy, unit: "%", limit: 97, atLeast: true, must: true },
      { what: "on wasm", measured: wasm.seconds, unit: "s", limit: 120, must: true },
      {
        what: "wasm ÷ native",
        measured: auto.engine === "native" ? wasm.seconds / auto.seconds : undefined,
        unit: "×",
        limit: 3,
        atLeast: true,
        must: true,
      },
    ],
  };
}
