// Names of own components: `./file.ts#Export` or `package#Export`. Everything else that Node could import is refused.
import { builtin } from "../../platform/builtin.ts";
import type { Fail } from "./fail.ts";
import { isForbidden } from "./keys.ts";

type Module = ReturnType<typeof process.getBuiltinModule<"node:module">>;

export interface Specifier {
  readonly kind: "file" | "package";
  /** `./file.ts`, or `package`, or `package/part`. */
  readonly module: string;
  /** The name of the export; `default` for a path without one. */
  readonly name: string;
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(?:\/[\w~-][\w.~-]*)*$/i;

/** Whether a `use` names an own component: the names of built-in ones are plain words. */
export const isModuleSpecifier = (use: string): boolean => /[#/\\:%\0]|^\./.test(use);

export function parseSpecifier(text: string, fail: Fail): Specifier {
  const refuse = (why: string): never => {
    throw fail(`Expected \`./file.ts#Export\` or \`package#Export\`, got ${JSON.stringify(text)}: ${why}.`);
  };
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  if (/[\0-\x1f\x7f]/.test(text)) refuse("it has a control character");
  if (text.includes("\\")) refuse("write / for \\");
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) refuse("URLs and modules of Node's own are not loaded from a config");
  if (/^[/~]/.test(text)) refuse("a path begins with ./, relative to the config");
  if (/%[0-9a-f]{2}/i.test(text)) refuse("it has an escape of URLs; write the character itself");
  if (/[?*]/.test(text)) refuse("`?` and `*` mean nothing here");
  const [module = "", name, ...more] = text.split("#");
  if (more.length > 0) refuse("it has more than one #");
  if (name !== undefined && !IDENTIFIER.test(name)) refuse("an export's name comes after the #");
  if (name !== undefined && isForbidden(name)) refuse(`\`${name}\` is no export`);
  if (/^\.{1,2}\//.test(module)) return { kind: "file", module, name: name ?? "default" };
  if (!PACKAGE.test(module)) refuse("it is neither a path that begins with ./ nor the name of a package");
  if (builtin<Module>("A config", "node:module").isBuiltin(module))
    refuse("modules of Node's own are not loaded from a config");
  if (name === undefined) refuse(`say which export of the package: ${module}#default, or its name`);
  return { kind: "package", module, name: name! };
}
