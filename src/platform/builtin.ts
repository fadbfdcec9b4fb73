// Node's own modules, loaded at run time: a static import would fail in a browser.
import { EngineError } from "../core/errors.ts";

type ModuleName =
  | "node:buffer"
  | "node:child_process"
  | "node:crypto"
  | "node:dns"
  | "node:fs"
  | "node:fs/promises"
  | "node:http"
  | "node:https"
  | "node:module"
  | "node:net"
  | "node:os"
  | "node:path"
  | "node:process"
  | "node:tty"
  | "node:url"
  | "node:util"
  | "node:worker_threads"
  | "node:zlib";

/** The type of one of Node's modules, without importing it. */
export type Builtin<Name extends ModuleName> = ReturnType<typeof process.getBuiltinModule<Name>>;

interface WithBuiltins {
  getBuiltinModule?(name: string): unknown;
}

/** The module, or undefined outside Node. */
export function builtinOrNone<Name extends ModuleName>(name: Name): Builtin<Name> | undefined {
  const { process } = globalThis as { process?: WithBuiltins };
  return process?.getBuiltinModule?.(name) as Builtin<Name> | undefined;
}

/** The module; outside Node, an error that names the `owner` who needs it. */
export function builtin<Name extends ModuleName>(owner: string, name: Name): Builtin<Name> {
  const found = builtinOrNone(name);
  if (found === undefined) throw new EngineError(`${owner} needs ${name}, which only Node has.`);
  return found;
}
