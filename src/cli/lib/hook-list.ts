// The built-in hooks, a line each: the titles that the schema for editors has of them.
import { readFileSync } from "node:fs";
import { packageUrl } from "./package.ts";

export interface BuiltinHook {
  /** Its name in a config. */
  readonly use: string;
  readonly what: string;
}

interface Schema {
  readonly $defs: Readonly<Record<string, { readonly title?: string }>>;
}

export function builtinHooks(): BuiltinHook[] {
  const { $defs } = JSON.parse(readFileSync(new URL("schema/hookline.schema.json", packageUrl), "utf8")) as Schema;
  return Object.entries($defs).flatMap(([name, { title = "" }]) =>
    name.startsWith("hook.") ? [{ use: name.slice("hook.".length), what: title }] : [],
  );
}
