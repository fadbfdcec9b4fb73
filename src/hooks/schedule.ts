// schedule: any hook, at a cadence.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { checkOptions, is } from "../core/options.ts";
import { wrapped } from "./lib/wrapped.ts";

/**
 * The hook with this cadence on top of its own: all must be due. Name, state, order and error policy stay the hook's,
 * and run-level events always reach it. Between times the hook costs nothing, not even a plan with gradients.
 * @example
 * schedule({ every: "500 steps", from: "1 epoch" }, new GradHistogram())
 */
export function schedule(cadence: Cadence, hook: Hook): Hook {
  checkOptions("schedule", { cadence, hook }, { cadence: is.cadence, hook: is.object });
  checkCadence("schedule", cadence);
  const own = hook.every === undefined ? [] : [hook.every].flat();
  return Object.defineProperty(
    wrapped(hook, (method) => method),
    "every",
    { value: [...own, cadence], enumerable: true, configurable: true },
  );
}
