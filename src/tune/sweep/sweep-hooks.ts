// The hooks of a sweep: built-in ones are made here, own ones by name, where trials run in processes of their own.
import { prepareComponent } from "../../experiment/build/component.ts";
import { isMap } from "../../experiment/build/is-map.ts";
import type { Problems } from "../../experiment/build/problems.ts";
import { isModuleSpecifier } from "../../experiment/config/modules.ts";
import { builtin } from "../../platform/builtin.ts";
import type { Hook } from "../../core/hook.ts";
import type { HookSource } from "../module-hooks.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/** @param directory what names of modules are to be relative to; undefined: all hooks are made here */
export async function sweepHooks(
  problems: Problems,
  config: unknown,
  directory: string | undefined,
): Promise<readonly (Hook | HookSource)[]> {
  const isList = Array.isArray(config);
  const hooks: (Hook | HookSource)[] = [];
  for (const [i, value] of (isList ? (config as readonly unknown[]) : [config]).entries()) {
    const path = isList ? ["hooks", i] : ["hooks"];
    const recipe = await prepareComponent(problems, "hook", value, path);
    if (!recipe) continue;
    const source = directory === undefined ? undefined : sourceOf(problems, value, path, directory);
    const hook = source ?? (await problems.attemptAsync(path, () => recipe.make()));
    if (hook !== undefined) hooks.push(hook as Hook | HookSource);
  }
  return hooks;
}

/** Of an own component: relative to `directory`, wherever it was written. */
function sourceOf(
  { doc }: Problems,
  value: unknown,
  path: readonly (string | number)[],
  directory: string,
): HookSource | undefined {
  const component = typeof value === "string" ? { use: value } : value;
  if (!isMap(component) || typeof component["use"] !== "string" || !isModuleSpecifier(component["use"]))
    return undefined;
  const { relative, resolve } = builtin<Paths>("A sweep", "node:path");
  const { use } = component;
  if (!/^\.{1,2}\//.test(use)) return { ...component, use };
  const way = relative(directory, resolve(doc.directoryOf(path), use)).replaceAll("\\", "/");
  return { ...component, use: way.startsWith(".") ? way : `./${way}` };
}
