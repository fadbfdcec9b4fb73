// What hooks keep in a checkpoint: plain data by name and version in state.json, tensors in files.
import { HookError } from "../../core/errors.ts";
import type { GivenState, Hook, HookState } from "../../core/hook.ts";
import type { Json } from "../../core/options.ts";
import type { HostTensors } from "../../core/model.ts";
import { TensorHandle } from "../hook-tensors.ts";
import type { HeldTensors } from "./held-tensors.ts";

/** The file of all hooks that ask for none of their own. */
const COMMON_FILE = "hooks";

export interface SavedHook {
  readonly version: number;
  readonly json?: Json;
  /** Where its tensors are, and under which names: `prefix` + name. */
  readonly tensors?: { readonly file: string; readonly prefix: string; readonly names: readonly string[] };
}

/** Asks every hook for its state. Tensors go into files: `fileOf` gives the one of this name. */
export async function takeHookStates(
  hooks: readonly Hook[],
  step: number,
  fileOf: (file: string) => HeldTensors,
): Promise<Record<string, SavedHook>> {
  const saved: Record<string, SavedHook> = {};
  for (const hook of hooks) {
    let given: GivenState | undefined;
    try {
      given = await hook.state?.();
    } catch (error) {
      throw new HookError(hook.name, "state", step, error);
    }
    if (!given) continue;
    const { json, tensors, file = COMMON_FILE } = given;
    const prefix = file === COMMON_FILE ? `${hook.name}/` : "";
    saved[hook.name] = { version: hook.version ?? 1, ...(json !== undefined && { json }) };
    if (!tensors) continue;
    const held = fileOf(file);
    if (tensors instanceof TensorHandle) {
      held.hold(Object.fromEntries(Object.entries(tensors.buffers).map(([name, buffer]) => [prefix + name, buffer])));
    } else {
      for (const [name, array] of Object.entries(tensors as HostTensors)) held.set(prefix + name, array);
    }
    const names = tensors instanceof TensorHandle ? tensors.names : Object.keys(tensors);
    saved[hook.name] = { ...saved[hook.name]!, tensors: { file, prefix, names } };
  }
  return saved;
}

export interface HooksReport {
  readonly restored: readonly string[];
  readonly missing: readonly string[];
  readonly orphaned: readonly string[];
}

/** Gives every hook its state back, by name. */
export async function loadHookStates(
  hooks: readonly Hook[],
  saved: Readonly<Record<string, SavedHook>>,
  step: number,
  tensorsIn: (file: string) => HostTensors,
): Promise<HooksReport> {
  const restored: string[] = [];
  const missing: string[] = [];
  for (const hook of hooks) {
    if (!hook.load) continue;
    const found = Object.hasOwn(saved, hook.name) ? saved[hook.name]! : undefined;
    if (!found) {
      missing.push(hook.name);
      continue;
    }
    try {
      await hook.load(stateOf(found, tensorsIn), found.version);
    } catch (error) {
      throw new HookError(hook.name, "load", step, error);
    }
    restored.push(hook.name);
  }
  const known = new Set(hooks.filter((hook) => hook.load).map(({ name }) => name));
  return { restored, missing, orphaned: Object.keys(saved).filter((name) => !known.has(name)) };
}

function stateOf({ json, tensors }: SavedHook, tensorsIn: (file: string) => HostTensors): HookState {
  const found = tensors && tensorsIn(tensors.file);
  return {
    ...(json !== undefined && { json }),
    ...(tensors && {
      tensors: Object.fromEntries(tensors.names.map((name) => [name, found![tensors.prefix + name]!])),
    }),
  };
}
