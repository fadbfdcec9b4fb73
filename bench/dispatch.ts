// What it costs to fire an event: our registry beside a plain loop, tapable and hookable, in one process.
import { createHooks } from "hookable";
import { tinyTrainer } from "hookline/testing";
import { SyncHook } from "tapable";
import { methodOf, type BuiltinEvent } from "../src/core/events.ts";
import type { Hook } from "../src/core/hook.ts";
import { makeHooks, type HookFunction, type Seen } from "./lib/hooks.ts";
import type { Report } from "./lib/report.ts";
import { inRounds, type Contender } from "./lib/rounds.ts";

/** The hot events of a step that do not change its plan. Each has functions of its own, as in a real run. */
const EVENTS = ["stepBegin", "beforeFetch", "batchBegin", "beforeForward", "batchEnd", "stepEnd"] as const;
const NAMES = ["hookline", "array loop", "tapable", "hookable"] as const;

interface Case {
  readonly label: string;
  readonly hooks: number;
  /** Fired in turn. With one, a compiler may specialise everything for it; a training step fires many. */
  readonly events: readonly BuiltinEvent[];
}

const CASES: readonly Case[] = [
  ...[0, 1, 5, 10].map((hooks) => ({ label: `${hooks} hooks`, hooks, events: ["stepEnd"] as const })),
  ...[0, 1, 5, 10].map((hooks) => ({ label: `${hooks} hooks, 6 events in turn`, hooks, events: EVENTS })),
];

/**
 * A loop of its own for each contender: loops made by one function would share what the compiler has learnt, and the
 * first contender would be measured in another state than the last.
 */
function loop(fireEach: readonly string[], names: readonly string[], values: readonly unknown[]): Contender["run"] {
  const body = `return (times) => { for (let i = 0; i < times; i += ${fireEach.length}) { ${fireEach.join(" ")} } };`;
  // oxlint-disable-next-line typescript/no-implied-eval -- see above
  return (new Function(...names, body) as (...values: readonly unknown[]) => Contender["run"])(...values);
}

const functions = ({ hooks, events }: Case): HookFunction[][] => events.map(() => makeHooks().slice(0, hooks));

/** As the loop fires: by name, out of the table that changes when hooks do. */
function hookline(each: Case): { readonly run: Contender["run"]; readonly ctx: Seen } {
  const { hooks } = tinyTrainer();
  const perEvent = functions(each);
  for (let i = 0; i < each.hooks; i++) {
    const methods = each.events.map((event, e) => [methodOf(event), perEvent[e]![i]]);
    hooks.add({ name: `hook ${i}`, ...Object.fromEntries(methods) } as Hook);
  }
  // The others get a real context, too: reading it must cost all of them the same.
  let ctx: Seen | undefined;
  hooks.add({ name: "lender", onEpochBegin: (lent) => void (ctx = lent) });
  void hooks.fire.epochBegin!();
  const calls = each.events.map((event) => `fire.${event}();`);
  return { run: loop(calls, ["fire"], [hooks.fire]), ctx: ctx! };
}

function arrayLoop(each: Case, ctx: Seen): Contender["run"] {
  const calls = each.events.map((_, e) => `for (let k = 0; k < on[${e}].length; k++) on[${e}][k](ctx);`);
  return loop(calls, ["on", "ctx"], [functions(each), ctx]);
}

function tapable(each: Case, ctx: Seen): Contender["run"] {
  const hooks = functions(each).map((listeners) => {
    const hook = new SyncHook<[Seen]>(["ctx"]);
    listeners.forEach((listener, i) => hook.tap(`hook ${i}`, listener));
    return hook;
  });
  const fire = Object.fromEntries(each.events.map((event, e) => [event, hooks[e]]));
  const calls = each.events.map((event) => `fire.${event}.call(ctx);`);
  return loop(calls, ["fire", "ctx"], [fire, ctx]);
}

/** Its callHook is synchronous when its hooks are, so nothing is awaited. */
function hookable(each: Case, ctx: Seen): Contender["run"] {
  const hooks = createHooks<Record<string, HookFunction>>();
  functions(each).forEach((listeners, e) => {
    for (const listener of listeners) hooks.hook(each.events[e]!, listener);
  });
  const calls = each.events.map((event) => `hooks.callHook("${event}", ctx);`);
  return loop(calls, ["hooks", "ctx"], [hooks, ctx]);
}

function measure(each: Case): Map<string, number> {
  const { run, ctx } = hookline(each);
  return inRounds([
    { name: "hookline", run },
    { name: "array loop", run: arrayLoop(each, ctx) },
    { name: "tapable", run: tapable(each, ctx) },
    { name: "hookable", run: hookable(each, ctx) },
  ]);
}

export function run(): Report {
  const results = CASES.map((each) => ({ each, ns: measure(each) }));
  const of = (label: string, name: (typeof NAMES)[number]): number =>
    results.find(({ each }) => each.label === label)!.ns.get(name)!;
  return {
    name: "dispatch",
    title: "dispatch: ns per event with synchronous hooks, medians",
    columns: NAMES,
    rows: results.map(({ each, ns }) => [each.label, ...NAMES.map((name) => ns.get(name))]),
    aims: [
      { what: "nobody listens", measured: of("0 hooks", "hookline"), unit: "ns", limit: 2 },
      ...["5 hooks", "5 hooks, 6 events in turn"].map((label) => ({
        what: `${label}, against tapable`,
        measured: of(label, "hookline") / of(label, "tapable"),
        unit: "×",
        limit: 1.5,
      })),
      ...["5 hooks", "5 hooks, 6 events in turn"].map((label) => ({
        what: `${label}, faster than hookable`,
        measured: of(label, "hookable") / of(label, "hookline"),
        unit: "×",
        limit: 50,
        atLeast: true,
      })),
    ],
  };
}
