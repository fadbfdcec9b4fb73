// Who takes part in gpu.ts: hookline's ways to train a model, and JAX's and PyTorch's, each in a process of its own.
import { fileURLToPath } from "node:url";
import { start, type Asked } from "./asked-process.ts";
import type { GpuModel } from "./gpu-models.ts";
import type { GpuAsk, GpuWay } from "./gpu-process.ts";

/** JAX, PyTorch with torch.compile, PyTorch as it is. */
export type GpuPeer = "jax" | "compile" | "torch";
export type Gpu = Asked<GpuAsk>;

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const gpuProcess = (model: GpuModel, way: GpuWay, saveEvery: number): Promise<Gpu | undefined> =>
  start<GpuAsk>(process.execPath, [beside("./gpu-process.js"), model, way, String(saveEvery)]);

/** Undefined where Python has not what it needs. It is not compiled, so it lies where this file's source does. */
export const gpuPeer = (peer: GpuPeer, model: GpuModel): Promise<Gpu | undefined> =>
  start<GpuAsk>(process.env.HOOKLINE_BENCH_PYTHON ?? "python3", [
    "-W",
    "ignore",
    beside("../../../lib/gpu-peers.py"),
    peer,
    model,
  ]);
