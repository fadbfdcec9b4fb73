// A config as plain data, for the record of what was run: without secrets, and with its modules relative to its own file.
import type { Json } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { secretsOfEnvironment } from "../../platform/redact.ts";
import type { ConfigPath } from "./config-error.ts";
import type { ConfigDocument } from "./config-tree.ts";

/** `./data.ts#digits`, `../hooks.ts`: what a config imports, relative to the file it is written in. */
export const RECORDED_MODULE = /^\.{1,2}\/.*(?:#|\.[cm]?[jt]sx?$)/;

/** The merged config as plain data, its modules relative to its own file; null when a TypeScript config holds more than data. */
export function recordable(doc: ConfigDocument): Json {
  const { relative, resolve, sep } = builtin("A record", "node:path");
  const home = doc.directoryOf([]);
  const plain = (value: unknown, path: ConfigPath): Json | undefined => {
    if (typeof value === "string" && !RECORDED_MODULE.test(value)) return withoutSecrets(value);
    if (typeof value === "string") {
      const way = relative(home, resolve(doc.directoryOf(path), value)).replaceAll(sep, "/");
      return way.startsWith(".") ? way : `./${way}`;
    }
    if (typeof value === "function" || (typeof value === "number" && !Number.isFinite(value))) return undefined;
    if (typeof value !== "object" || value === null) return value as Json;
    const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
    if (!isPlain) return undefined;
    const entries = Object.entries(value).map(([key, inner]) => [key, plain(inner, [...path, key])] as const);
    if (entries.some(([, inner]) => inner === undefined)) return undefined;
    return Array.isArray(value) ? entries.map(([, inner]) => inner!) : (Object.fromEntries(entries) as Json);
  };
  return plain(doc.raw, []) ?? null;
}

/** A secret that the shell expanded (`--set hooks.webhook.token=$TOKEN`) is recorded as `${TOKEN}`, to be read from the environment again. */
export function withoutSecrets(text: string): string {
  const secrets = new Set(secretsOfEnvironment());
  const named = Object.entries(builtin("A record", "node:process").env).filter(
    ([, value]) => value !== undefined && secrets.has(value),
  );
  return named.reduce((left, [name, value]) => left.replaceAll(value!, `\${${name}}`), text);
}
