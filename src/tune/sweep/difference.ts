// The first thing in which two configs differ.
import type { Json } from "../../core/json.ts";

export interface Difference {
  readonly path: string;
  readonly before: string;
  readonly now: string;
}

/** The same in another order is no difference. */
export function difference(before: Json | undefined, now: Json | undefined, path: string = ""): Difference | undefined {
  const [then, here] = [JSON.stringify(before), JSON.stringify(now)];
  if (then === here) return undefined;
  const isTree = (value: unknown): value is Readonly<Record<string, Json>> =>
    typeof value === "object" && value !== null;
  if (!isTree(before) || !isTree(now)) return { path, before: then ?? "not there", now: here ?? "not there" };
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const found = difference(before[key], now[key], path === "" ? key : `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}
