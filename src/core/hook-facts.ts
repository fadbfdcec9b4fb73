// What a hook says about itself: its settings checked and completed, its methods found.
import { HookRegistrationError } from "./errors.ts";
import { hookEvents, methodOf } from "./events.ts";
import { ERROR_POLICIES, HOOK_SETTINGS, NEEDS, STAGES, type ErrorPolicy, type Hook, type Stage } from "./hook.ts";
import { checkOptions, is, show } from "./options.ts";
import type { Ordered } from "./order.ts";
import { nearest } from "./suggest.ts";

type AnyMethod = (this: unknown, ctx: never) => unknown;

export interface HookFacts extends Ordered {
  readonly policy: ErrorPolicy;
  /** Loggers and progress: they only report, so their failures must not end a run. */
  readonly isReporter: boolean;
  /** By event. */
  readonly methods: ReadonlyMap<string, AnyMethod>;
}

const names = is.or(is.name, is.arrayOf(is.name));
const SETTINGS = {
  name: is.name,
  stage: is.oneOf(...STAGES),
  before: names,
  after: names,
  onError: is.oneOf(...ERROR_POLICIES),
  needs: is.arrayOf(is.oneOf(...NEEDS)),
  monitors: is.arrayOf(is.name),
  logs: is.arrayOf(is.name),
  probes: is.object,
  every: is.or(is.positive, is.name, is.object, is.array),
  logEvery: is.cadence,
  loaders: is.arrayOf(is.name),
  optimizers: is.arrayOf(is.or(is.name, is.wholeFrom(0))),
  ranks: is.oneOf("main", "all"),
  budget: is.positive,
  version: is.wholeFrom(1),
  state: is.function,
  load: is.function,
};

const list = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === "string" ? [value] : value;

/** Every property of the hook and of its class, up to Object. */
function propertyNames(hook: object): Set<string> {
  const found = new Set<string>();
  for (let at: object | null = hook; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Object.getOwnPropertyNames(at)) found.add(key);
  }
  return found;
}

/** Reads a hook; what is wrong with it is an error that names it. */
export function readHook(hook: Hook): HookFacts {
  if (typeof hook !== "object" || hook === null)
    throw new HookRegistrationError(`A hook is an object with a \`name\`, got ${show(hook)}.`);
  const settings = Object.fromEntries(
    HOOK_SETTINGS.map((key) => [key, (hook as unknown as Record<string, unknown>)[key]]),
  );
  const { name } = hook;
  if (typeof name !== "string" || name === "") {
    throw new HookRegistrationError(`A hook needs a \`name\`: { name: "myHook", onStepEnd(ctx) { … } }.`);
  }
  checkOptions(`Hook \`${name}\``, settings, SETTINGS);
  const stage: Stage = hook.stage ?? "user";
  const isReporter = stage === "logger" || stage === "progress";
  const policy = hook.onError ?? (isReporter ? "warn" : "throw");
  return {
    name,
    stage,
    before: list(hook.before),
    after: list(hook.after),
    policy,
    isReporter,
    methods: methodsOf(hook),
  };
}

function methodsOf(hook: Hook): Map<string, AnyMethod> {
  const found = new Map<string, AnyMethod>();
  const methods = new Map(hookEvents().map((event) => [methodOf(event) as string, event]));
  const lowerCase = new Set([...methods.keys()].map((method) => method.toLowerCase()));
  for (const key of propertyNames(hook)) {
    // `onstepEnd` and `on_step_end` are meant as events as well; `once` and `online` are not.
    const value = (hook as unknown as Record<string, unknown>)[key];
    if (typeof value === "function" && methods.has(methodOf(key))) {
      throw new HookRegistrationError(
        `Hook \`${hook.name}\`: the method of event \`${key}\` is called \`${methodOf(key)}\`.`,
      );
    }
    const meant = /^on[A-Z_]/.test(key) || lowerCase.has(key.toLowerCase());
    if (!meant || HOOK_SETTINGS.includes(key)) continue;
    const event = methods.get(key);
    if (event === undefined) {
      const near = nearest(key, methods.keys());
      throw new HookRegistrationError(
        `Hook \`${hook.name}\` has a method \`${key}\`, but there is no such event.${near ? ` Did you mean \`${near}\`?` : ""} Own events are made known by defineEvent().`,
      );
    }
    if (value === undefined) continue;
    if (typeof value !== "function")
      throw new HookRegistrationError(`Hook \`${hook.name}\`: \`${key}\` must be a function, got ${typeof value}.`);
    found.set(event, value as AnyMethod);
  }
  return found;
}
