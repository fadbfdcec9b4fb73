// schedule: runs a hook at a cadence.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is, one } from "../core/options.ts";

/**
 * The hook with this cadence in addition to its own: both must be due. Name, state, order and error policy stay the hook's,
 * and run-level events always reach it. In between, the hook costs nothing: steps are not split for it.
 * @example
 * schedule({ every: "500 steps", from: "1 epoch" }, new GradHistogram())
 */
export const schedule = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "schedule",
    takes: () => ({ args: { cadence: is.cadence, hook: { ...is.object, holds: one("hook") } } }),
  },
  makeSchedule,
);

function makeSchedule(cadence: Cadence, hook: Hook): Hook {
  checkCadence("schedule", cadence);
  const own = hook.every === undefined ? [] : [hook.every].flat();
  return Object.defineProperty(
    wrapHook(hook, (method) => method),
    "every",
    { value: [...own, cadence], enumerable: true, configurable: true },
  );
}

type Properties = Record<string, unknown>;

/** The properties of the hook and of its classes. */
function propertyNames(hook: object): Set<string> {
  const found = new Set<string>();
  for (let at: object | null = hook; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    for (const key of Object.getOwnPropertyNames(at)) if (key !== "constructor") found.add(key);
  }
  return found;
}

/**
 * The same hook, with `around` applied to each of its event methods. Methods are bound to the hook, so that a class
 * instance keeps its `this` and its private fields.
 */
export function wrapHook(
  hook: Hook,
  around: (method: (ctx: never) => unknown, event: string) => (ctx: never) => unknown,
): Hook {
  const inner = hook as unknown as Properties;
  const outer: Properties = {};
  for (const key of propertyNames(hook)) {
    const value = inner[key];
    if (typeof value !== "function") {
      // Read through: a hook may change its fields.
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
