// An engine in a process of its own, asked line by line: for the milliseconds of some steps, for where they go, for the
// memory that it took.
import { createInterface } from "node:readline";
import type { Engine } from "../../src/engines/engine.ts";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { ENGINE_MODELS, type EngineModel } from "./engine-models.ts";
import { PacedRun } from "./paced-run.ts";

export type Ask =
  | { readonly model: EngineModel; readonly steps: number; readonly threads?: number }
  | { readonly profile: EngineModel; readonly steps: number }
  | { readonly resident: true }
  | { readonly peak: true };

const engine: Engine = process.argv[2] === "native" ? new NativeEngine() : await JaxEngine.create("wasm");

const runs = new Map<EngineModel, PacedRun>();

async function steps(model: EngineModel, count: number): Promise<number[]> {
  let run = runs.get(model);
  if (!run) {
    run = new PacedRun({ ...ENGINE_MODELS[model].make(), engine });
    runs.set(model, run);
  }
  return run.take(count);
}

async function answer(ask: Ask): Promise<unknown> {
  if ("model" in ask) return steps(ask.model, ask.steps);
  if ("peak" in ask) return process.resourceUsage().maxRSS * 1024;
  if ("resident" in ask) return process.memoryUsage.rss();
  const { profile } = engine as NativeEngine;
  profile.isOn = true;
  await steps(ask.profile, ask.steps);
  profile.isOn = false;
  return profile.steps;
}

console.log(JSON.stringify({ version: `Node ${process.versions.node}` }));
for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await answer(JSON.parse(line) as Ask)));
}
process.exit(0);
