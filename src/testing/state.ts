// The state of a hook as a checkpoint would give it back.
import type { Hook, HookState } from "../core/hook.ts";
import type { DeviceTensors } from "../core/inspection.ts";
import type { HostTensors } from "../core/model.ts";

/**
 * What `load` would get after a save: plain data gone through JSON, tensors as host arrays.
 * @example other.load?.(await savedState(hook), 1)
 */
export async function savedState(hook: Hook): Promise<HookState> {
  const { json, tensors } = (await hook.state?.()) ?? {};
  return {
    ...(json !== undefined && { json: JSON.parse(JSON.stringify(json)) as HookState["json"] }),
    ...(tensors && { tensors: isOnEngine(tensors) ? await tensors.read() : tensors }),
  };
}

const isOnEngine = (tensors: HostTensors | DeviceTensors): tensors is DeviceTensors =>
  typeof tensors.free === "function";
