// Node's own modules, for hooks that need one: found at run time, so that nothing is imported in a browser.
import { EngineError } from "../core/errors.ts";

interface WithBuiltins {
  getBuiltinModule?(name: string): unknown;
}

/** The module, or undefined outside Node. The caller says which type it has: nothing is imported to tell. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function builtinOrNone<T>(name: `node:${string}`): T | undefined {
  const { process } = globalThis as { process?: WithBuiltins };
  return process?.getBuiltinModule?.(name) as T | undefined;
}

/** The module; `owner` is who needs it, for the error elsewhere. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function builtin<T>(owner: string, name: `node:${string}`): T {
  const found = builtinOrNone<T>(name);
  if (found === undefined) throw new EngineError(`${owner} needs ${name}, which only Node has.`);
  return found;
}
