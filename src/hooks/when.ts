// when: runs a hook only while a condition holds.
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import { alwaysPasses } from "../core/events.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is, one, show } from "../core/options.ts";
import { wrapHook } from "./schedule.ts";

/** Gets the fields that every event has: step, epoch, metrics, … */
export type Predicate = (ctx: ContextOf<"close">, event: string) => boolean;

/**
 * The hook, called only while `predicate` returns true; run-level events always reach it. Name, state, order, cadence and
 * error policy stay the hook's. What it needs is computed in every step, since the predicate is known only at the event;
 * for every n-th step use `schedule`.
 * @example
 * when((ctx) => (ctx.metrics["val/loss"] ?? Infinity) < 1, gradientMonitor())
 */
export const when = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "when",
    takes: () => ({ args: { predicate: is.function, hook: { ...is.object, holds: one("hook") } } }),
  },
  makeWhen,
);

function makeWhen(predicate: Predicate, hook: Hook): Hook {
  const holds = (ctx: ContextOf<"close">, event: string): boolean => {
    const verdict: unknown = predicate(ctx, event);
    if (typeof verdict === "boolean") return verdict;
    throw new OptionError(`when: the predicate must return true or false, got ${show(verdict)}`);
  };
  return wrapHook(hook, (method, event) =>
    alwaysPasses(event) ? method : (ctx: never) => (holds(ctx, event) ? method(ctx) : undefined),
  );
}
