// One config over another: maps merge deeply, lists replace, a component with another `use` replaces wholly.
import { asComponent, useOf, type ConfigNode } from "./tree.ts";

/** The same text in another directory is another module. */
function sameUse(a: ConfigNode, b: ConfigNode): boolean {
  const [one, other] = [useOf(a), useOf(b)];
  if (!one || !other || one.value !== other.value) return false;
  return !/^\.{1,2}\//.test(one.value) || one.directory === other.directory;
}

/** `over` wins; both stay as they are. */
export function merge(base: ConfigNode, over: ConfigNode): ConfigNode {
  // A bare string says which component; the options below it are still meant.
  if (over.kind === "leaf") return base.kind === "map" && sameUse(base, over) ? base : over;
  const under = asComponent(base);
  if (over.kind === "list" || under.kind !== "map") return over;
  if (over.entries.has("use") && !sameUse(under, over)) return over;
  const entries = new Map(under.entries);
  for (const [key, { at, value }] of over.entries) {
    const known = entries.get(key);
    entries.set(key, { at, value: known ? merge(known.value, value) : value });
  }
  return { ...over, entries };
}
