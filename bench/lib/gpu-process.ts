// A model on the xla engine in a process of its own, asked line by line for some steps:
// `gpu-process.ts <model> <bare|deterministic|trainer|hooks>`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gradientMonitor, logger, modelCheckpoint, progressBar } from "hookline";
import { XlaEngine } from "hookline/xla";
import { GPU_MODELS, type GpuModel } from "./gpu-models.ts";
import { bareTake, type GpuAsk, trainerTake } from "./gpu-takes.ts";

/** The program alone, also with deterministic kernels; by a trainer; by a trainer with hooks. */
export type GpuWay = "bare" | "deterministic" | "trainer" | "hooks";

/** The bar is drawn and thrown away: what a terminal does with it is not measured. */
const hooks = (steps: number) => [
  progressBar({ write: () => undefined }),
  logger("jsonl", { every: 10 }),
  gradientMonitor({ every: 100 }),
  modelCheckpoint({ every: steps }),
];

const [model, way, saveEvery] = process.argv.slice(2) as [GpuModel, GpuWay, string];
const { precision, setup } = GPU_MODELS[model];
const engine = new XlaEngine({ precision, deterministic: way === "deterministic" });
const runDir = way === "hooks" ? mkdtempSync(join(tmpdir(), "hookline-gpu-")) : undefined;
const take =
  way === "trainer" || way === "hooks"
    ? trainerTake(engine, { ...setup(), ...(runDir !== undefined && { runDir, hooks: hooks(Number(saveEvery)) }) })
    : await bareTake(engine, setup());

console.log(JSON.stringify({ version: engine.device }));
for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await take((JSON.parse(line) as GpuAsk).steps)));
}
if (runDir !== undefined) rmSync(runDir, { recursive: true, force: true });
process.exit(0);
