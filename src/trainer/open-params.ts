// A model's parameters on an engine without a training: for those who only compute with them.
import type { ParamsView } from "../core/inspection.ts";
import type { Model } from "../core/model.ts";
import { type Engine, freeRest } from "../engines/engine.ts";
import { type EngineName, selectEngine } from "../engines/select.ts";
import { initKey } from "../nn/key.ts";
import { putBase } from "./base.ts";
import { type Buffers, DeviceState } from "./device-state.ts";
import { HookTensors } from "./inspection/hook-tensors.ts";

export interface OpenParams {
  readonly params: ParamsView;
  /** The engine's name. */
  readonly engine: string;
  /** Frees them, and closes the engine if it was started for them. */
  close(): Promise<void>;
}

/** The parameters that a training with seed 0 would begin with. */
export async function openParams(
  model: Model<never>,
  engine: EngineName | Engine,
  warn: (message: string) => void,
): Promise<OpenParams> {
  const chosen = await selectEngine(engine, warn);
  const closeEngine = async (): Promise<void> => {
    if (chosen !== engine) await chosen.close();
  };
  const { base } = model;
  let constants: Buffers = {};
  try {
    if (base) constants = await putBase(chosen, base);
    const host = { params: model.init(initKey(0)), state: model.initState?.() ?? {} };
    const state = new DeviceState(chosen, host, { slotNames: [] }, constants);
    const params = new HookTensors(chosen, state, () => state);
    return {
      params,
      engine: chosen.name,
      async close() {
        params.free();
        state.free();
        await closeEngine();
      },
    };
  } catch (error) {
    freeRest(chosen, constants);
    await closeEngine();
    throw error;
  }
}
