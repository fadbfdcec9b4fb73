// A hook around another: all that it has, methods bound to it, so that a class instance keeps its `this` and its fields.
import type { Hook } from "../../core/hook.ts";

type Properties = Record<string, unknown>;

/** Every property of the hook and of its class, up to Object. */
function propertyNames(hook: object): Set<string> {
  const found = new Set<string>();
  for (let at: object | null = hook; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") found.add(key);
  }
  return found;
}

/** The same hook, with `around` applied to each of its event methods. */
export function wrapped(
  hook: Hook,
  around: (method: (ctx: never) => unknown, event: string) => (ctx: never) => unknown,
): Hook {
  const inner = hook as unknown as Properties;
  const outer: Properties = {};
  for (const key of propertyNames(hook)) {
    const value = inner[key];
    if (typeof value !== "function") {
      // Read anew each time: what a hook shows of itself may change.
      Object.defineProperty(outer, key, {
        enumerable: true,
        configurable: true,
        get: () => inner[key],
        set(next: unknown) {
          inner[key] = next;
        },
      });
      continue;
    }
    const bound = value.bind(hook) as (ctx: never) => unknown;
    outer[key] = /^on[A-Z]/.test(key) ? around(bound, key[2]!.toLowerCase() + key.slice(3)) : bound;
  }
  return outer as unknown as Hook;
}
