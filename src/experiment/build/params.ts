// The hyper-parameters of a model as plain data: what its config says, with environment variables as they are written.
import type { Json } from "../../core/options.ts";
import type { ConfigValue } from "../config/document.ts";
import { withoutSecrets } from "../config/recordable.ts";

/** What is the experiment's and not the model's, or says how a run is watched and not what it is. */
const NOT_OF_A_MODEL: ReadonlySet<string> = new Set([
  "$schema",
  "extends",
  "name",
  "runDir",
  "data",
  "split",
  "models",
  "hooks",
]);

type Map = Readonly<Record<string, ConfigValue>>;

/** @param raw of the whole config; `own` is the model's part of it, where there are several */
export function paramsOf(raw: Map, own: Map = {}): Readonly<Record<string, Json>> {
  const entries = Object.entries({ ...raw, ...own }).filter(([key]) => !NOT_OF_A_MODEL.has(key));
  return Object.fromEntries(entries.map(([key, value]) => [key, plain(value)]));
}

/** The whole config, for hooks. A secret of the environment stands there by the name of its variable. */
export function wholeConfig(raw: Map): Readonly<Record<string, Json>> {
  return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, plain(value, withoutSecrets)]));
}

/** Functions and objects of a TypeScript config are told by their names. */
function plain(value: unknown, text = (written: string): string => written): Json {
  if (typeof value === "string") return text(value);
  if (typeof value === "function") return `[${value.name || "function"}]`;
  if (typeof value !== "object" || value === null) return value as Json;
  if (Array.isArray(value)) return value.map((each) => plain(each, text));
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  if (prototype !== null && prototype !== Object.prototype) return `[${prototype.constructor?.name ?? "object"}]`;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each, text)]));
}
