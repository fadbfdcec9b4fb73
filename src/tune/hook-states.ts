// What hooks of a study keep from one controller to the next: by name, in a file of the study's directory.
import { HookError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import type { Json } from "../core/json.ts";
import { writeAtomically } from "../runs/files.ts";
import { builtin } from "../platform/builtin.ts";
import { StudyError } from "./study-error.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type States = Readonly<Record<string, { readonly version: number; readonly json: Json }>>;

const fileIn = (dir: string): string => `${dir}/hooks.json`;

export async function saveHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const states: Record<string, { version: number; json: Json }> = {};
  for (const hook of hooks) {
    const state = await calling(hook, "state", () => hook.state?.());
    if (state?.json !== undefined) states[hook.name] = { version: hook.version ?? 1, json: state.json };
  }
  if (Object.keys(states).length > 0) await writeAtomically("Study", fileIn(dir), `${JSON.stringify(states)}\n`);
}

export async function loadHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const { existsSync, readFileSync } = builtin<Fs>("Study", "node:fs");
  if (!existsSync(fileIn(dir))) return;
  const states = read(fileIn(dir), readFileSync(fileIn(dir), "utf8"));
  for (const hook of hooks) {
    const state = Object.hasOwn(states, hook.name) ? states[hook.name] : undefined;
    if (state) await calling(hook, "load", () => hook.load?.({ json: state.json }, state.version));
  }
}

async function calling<T>({ name }: Hook, method: string, call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new HookError(name, method, undefined, error);
  }
}

function read(file: string, text: string): States {
  try {
    return JSON.parse(text) as States;
  } catch (cause) {
    throw new StudyError(`Study: ${file} is damaged. Remove it, and the hooks begin anew.`, { cause });
  }
}
