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
  return wrapHook(hook, (method) => method, { every: [...own, cadence] });
}

/**
 * The same hook, with `around` applied to each of its event methods and with other `settings`. Everything else is read
 * from the hook and written to it, and methods are bound to it, so that a class instance keeps its `this` and its private
 * fields.
 */
export function wrapHook(
  hook: Hook,
  around: (method: (ctx: never) => unknown, event: string) => (ctx: never) => unknown,
  settings: Partial<Hook> = {},
): Hook {
  // Around an empty object, since a proxy must show the fields of a frozen hook as they are.
  return new Proxy(Object.create(hook) as Hook, {
    get(_, key) {
      if (Object.hasOwn(settings, key)) return settings[key as keyof Hook];
      const value: unknown = Reflect.get(hook, key);
      if (typeof value !== "function") return value;
      const bound = value.bind(hook) as (ctx: never) => unknown;
      const [, first, rest] = /^on([A-Z])(.*)/.exec(String(key)) ?? [];
      return first === undefined ? bound : around(bound, first.toLowerCase() + rest);
    },
    set: (_, key, value) => Reflect.set(hook, key, value),
  });
}
