// trainer.on: a hook made of one function.
import type { Cadence } from "../cadence.ts";
import { HookRegistrationError } from "../errors.ts";
import { allEvents, levelOf, methodOf } from "../events.ts";
import { show } from "../options.ts";
import type { Disposer, HookRegistry } from "./registry.ts";

type Fn = (ctx: never) => unknown;

/** The arguments after the event: a function, with or without a cadence before it. */
export type OnArguments = [fn: Fn] | [cadence: Cadence, fn: Fn];

/** Adds a hook made of one function, under a name of its own: `trainer.on`. */
export function addFunction(hooks: HookRegistry, event: string, ...rest: OnArguments): Disposer {
  const fn = rest.at(-1) as Fn;
  if (typeof fn !== "function") {
    throw new HookRegistrationError(
      `on("${event}"): Expected a function of the context as the last argument, got ${show(fn)}`,
    );
  }
  const level = levelOf(event);
  if (level === "pipeline" || level === "tune") {
    const owner = level === "pipeline" ? "an experiment" : "a study";
    throw new HookRegistrationError(
      `on("${event}"): it is an event of ${owner}, and a trainer never fires it. Give ${owner} a hook with \`${methodOf(event)}\`.`,
    );
  }
  const method = { [methodOf(event)]: fn };
  // The registry's error names the nearest event.
  if (!allEvents().includes(event)) return hooks.add({ name: `on ${event}`, ...method });
  const base = `${fn.name || "on"} ${event}`;
  let name = base;
  for (let n = 2; hooks.get(name); n++) name = `${base} ${n}`;
  return hooks.add({ name, ...(rest.length === 2 && rest[0] !== undefined && { every: rest[0] }), ...method });
}
