// Who takes part in gpu.ts and gpu-lora.ts: hookline's ways to train a model, and JAX's and PyTorch's, each in a process of its
// own.
import { fileURLToPath } from "node:url";
import { start, type Asked } from "./asked-process.ts";
import { configOf, LORA_MODELS, type LoraModelName } from "./gpu-lora-models.ts";
import type { LoraWay } from "./gpu-lora-process.ts";
import type { GpuModel } from "./gpu-models.ts";
import type { GpuWay } from "./gpu-process.ts";
import type { GpuAsk } from "./gpu-takes.ts";

/** JAX, PyTorch with torch.compile, PyTorch as it is. */
export type GpuPeer = "jax" | "compile" | "torch";
/** transformers and PEFT with torch.compile, and as they are. */
export type LoraPeer = "compile" | "eager";
export type Gpu = Asked<GpuAsk>;

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const gpuProcess = (model: GpuModel, way: GpuWay, saveEvery: number): Promise<Gpu | undefined> =>
  start<GpuAsk>(process.execPath, [beside("./gpu-process.js"), model, way, String(saveEvery)]);

/** Undefined where Python has not what it needs. It is not compiled, so it lies where this file's source does. */
const python = (script: string, ...args: string[]): Promise<Gpu | undefined> =>
  start<GpuAsk>(process.env.HOOKLINE_BENCH_PYTHON ?? "python3", [
    "-W",
    "ignore",
    beside(`../../../lib/${script}`),
    ...args,
  ]);

export const gpuPeer = (peer: GpuPeer, model: GpuModel): Promise<Gpu | undefined> =>
  python("gpu-peers.py", peer, model);

/** The folder has the model's random weights. */
export const loraProcess = (folder: string, model: LoraModelName, way: LoraWay): Promise<Gpu | undefined> =>
  start<GpuAsk>(process.execPath, [beside("./gpu-lora-process.js"), folder, model, way]);

export const loraPeer = (peer: LoraPeer, model: LoraModelName): Promise<Gpu | undefined> => {
  const { rows, length } = LORA_MODELS[model];
  return python("gpu-lora-peers.py", peer, JSON.stringify({ config: configOf(LORA_MODELS[model]), rows, length }));
};
