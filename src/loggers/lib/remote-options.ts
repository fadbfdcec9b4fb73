// Checks and sources of options that services share.
import { OptionError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { is, type Check } from "../../core/options.ts";
import { secretsOfEnvironment } from "../../core/redact.ts";

/** The environment as it is now; empty in a browser. */
export function environment(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}

/** What must never be shown: a service's own, and what the environment says is secret. */
export const allSecrets = (...own: readonly string[]): string[] =>
  [...own, ...secretsOfEnvironment()].filter((secret) => secret !== "");

export const stringsOf: Check = {
  expected: "an object of strings",
  schema: { type: "object", additionalProperties: { type: "string" } },
  test: (v) => is.object.test(v) && Object.values(v as object).every((value) => typeof value === "string"),
};

/** The common message would show the value. */
export function checkSecrets(owner: string, options: object, names: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name) || value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new OptionError(`${owner}: Expected \`${name}\` to be a non-empty string (it is not shown).`);
  }
}

/** The same with every text in it changed. */
export function mapTexts<T extends Json>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => mapTexts(each, change)) as Json as T;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)])) as T;
}
