// Keys that would reach into JavaScript itself if an object were assigned by them. No option is called so.
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";

const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export const isForbidden = (name: string): boolean => FORBIDDEN.has(name);

/** @param key as it reads when quotes and escapes are gone */
export function checkKey(key: string, path: ConfigPath, at: Position): void {
  if (!isForbidden(key)) return;
  throw new ConfigError(
    `\`${key}\` cannot be a key: it names a part of JavaScript's objects. Use another name.`,
    path,
    at,
  );
}

/** A key that a map has already: whichever of the two were taken, the other is a mistake. */
export function checkTwice(first: Position | undefined, key: string, path: ConfigPath, at: Position): void {
  if (first === undefined) return;
  const where = first.line === undefined ? "" : `; the first is in line ${first.line}`;
  throw new ConfigError(`\`${key}\` is written twice${where}. Remove one.`, path, at);
}
