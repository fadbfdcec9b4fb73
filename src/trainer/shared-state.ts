// The state on the device where several processes train together: made equal at the start, and hashed to prove that it stays so.
import type { TypedArray } from "../core/arrays.ts";
import { hashOf, type TensorHash } from "../distributed/desync.ts";
import type { Strategy } from "../distributed/strategy.ts";
import type { Buffer } from "../engines/engine.ts";
import type { DeviceState } from "./device-state.ts";

/** Hashes of parameters and buffers, in their order. */
export async function hashState({ engine, params, state }: DeviceState): Promise<TensorHash[]> {
  const hashes: TensorHash[] = [];
  for (const [name, buffer] of Object.entries({ ...params, ...state }))
    hashes.push({ name, hash: hashOf(await engine.read(buffer)) });
  return hashes;
}

/** Gives every rank the main one's parameters, buffers and optimizer state. */
export async function shareState(strategy: Strategy, device: DeviceState): Promise<void> {
  const { engine } = device;
  for (const part of ["params", "state", "opt"] as const) {
    const next: Record<string, Buffer> = {};
    for (const [name, { shape, dtype }] of Object.entries(device[part])) {
      // A copy: what an engine gives to read may be its own memory.
      const data = (await engine.read(device[part][name]!)).slice() as TypedArray;
      await strategy.broadcast(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      next[name] = engine.put({ data, shape, ...(dtype === "bool" && { dtype }) });
    }
    device.commit(part, next, false);
  }
}
