// What it costs to fire an event: our registry beside a plain loop, tapable and hookable, in one process.
import { createHooks } from "hookable";
import { tinyTrainer } from "hookline/testing";
import { SyncHook } from "tapable";
import type { BuiltinEvent } from "../src/core/events.ts";
import type { Hook } from "../src/core/hook.ts";
import { methodOf } from "../src/core/events.ts";
import { makeHooks, type HookFunction, type Seen } from "./lib/hooks.ts";
import type { Report } from "./lib/report.ts";
import { inRounds, type Contender } from "./lib/rounds.ts";

const COUNTS = [0, 1, 5, 10];
/** Fired in turn, as a training step does. All of them hot. */
const EVENTS: readonly BuiltinEvent[] = [
  "stepBegin",
  "beforeFetch",
  "batchBegin",
  "beforeForward",
  "batchEnd",
  "stepEnd",
];

const NAMES = ["hookline", "array loop", "tapable", "hookable"] as const;

interface Bench {
  /** Fires event number `i`. */
  readonly fire: (event: number) => unknown;
}

/** `count` hooks on each event, each event with functions of its own. */
const functions = (count: number): HookFunction[][] => EVENTS.map(() => makeHooks().slice(0, count));

function ours(count: number): Bench & { readonly ctx: Seen } {
  const { hooks } = tinyTrainer();
  const perEvent = functions(count);
  let ctx: Seen | undefined;
  for (let i = 0; i < count; i++) {
    const methods = EVENTS.map((event, e) => [methodOf(event), perEvent[e]![i]]);
    hooks.add({ name: `hook ${i}`, ...Object.fromEntries(methods) } as Hook);
  }
  // The others get a real context, too: reading it must cost all of them the same.
  hooks.add({ name: "lender", onEpochBegin: (lent) => void (ctx = lent) });
  void hooks.fire.epochBegin!();
  // As the loop calls it: by name, out of the table that changes when hooks do.
  const { fire } = hooks;
  const calls = [
    () => fire.stepBegin!(),
    () => fire.beforeFetch!(),
    () => fire.batchBegin!(),
    () => fire.beforeForward!(),
    () => fire.batchEnd!(),
    () => fire.stepEnd!(),
  ];
  return { fire: (event) => calls[event]!(), ctx: ctx! };
}

function arrayLoop(count: number, ctx: Seen): Bench {
  const perEvent = functions(count);
  return {
    fire(event) {
      const listeners = perEvent[event]!;
      for (let i = 0; i < listeners.length; i++) listeners[i]!(ctx);
    },
  };
}

function tapable(count: number, ctx: Seen): Bench {
  const hooks = functions(count).map((listeners) => {
    const hook = new SyncHook<[Seen]>(["ctx"]);
    listeners.forEach((listener, i) => hook.tap(`hook ${i}`, listener));
    return hook;
  });
  return { fire: (event) => hooks[event]!.call(ctx) };
}

function hookable(count: number, ctx: Seen): Bench {
  const hooks = createHooks<Record<string, HookFunction>>();
  functions(count).forEach((listeners, e) => {
    for (const listener of listeners) hooks.hook(EVENTS[e]!, listener);
  });
  return { fire: (event) => hooks.callHook(EVENTS[event]!, ctx) };
}
