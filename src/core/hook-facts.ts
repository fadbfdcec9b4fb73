// What a hook says about itself: its settings checked and completed, its methods found.
import { HookRegistrationError } from "./errors.ts";
import { hookEvents, methodOf } from "./events.ts";
import { ERROR_POLICIES, HOOK_SETTINGS, NEEDS, STAGES, type ErrorPolicy, type Hook, type Stage } from "./hook.ts";
import { checkOptions, is, show } from "./options.ts";
import type { Ordered } from "./order.ts";
import { distance, nearest } from "./suggest.ts";

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
  if (typeof hook !== "object" || hook === null) {
    const given: unknown = hook;
    const call = typeof given === "function" ? ` Is it to be called, as in ${given.name || "earlyStopping"}()?` : "";
    throw new HookRegistrationError(`A hook is an object with a \`name\`, got ${show(hook)}.${call}`);
  }
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

/** What other systems call a setting. The last ones are methods, and only then meant. */
const SYNONYMS: Readonly<Record<string, string>> = {
  priority: "stage",
  statedict: "state",
  savestate: "state",
  getstate: "state",
  loadstate: "load",
  loadstatedict: "load",
  setstate: "load",
};

/**
 * A hook may have fields of its own, so a key that is no setting is not yet a mistake. It is one when it is a setting in
 * another case or with underscores, what other systems call one, or one letter away from a setting that is not given,
 * with a value that would do for it.
 */
function checkOwnFields(hook: Hook): void {
  const values = hook as unknown as Record<string, unknown>;
  for (const key of propertyNames(hook)) {
    if (key === "constructor" || HOOK_SETTINGS.includes(key)) continue;
    const meant = settingMeant(key, values[key]);
    if (meant === undefined || values[meant] !== undefined) continue;
    throw new HookRegistrationError(
      `Hook \`${hook.name}\` has a field \`${key}\`, which is no setting. Did you mean \`${meant}\`? If it is the hook's own, call it something else, or make it private (\`#${key}\`).`,
    );
  }
}

function settingMeant(key: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const plain = key.toLowerCase().replaceAll("_", "");
  const spelled = HOOK_SETTINGS.find((setting) => setting.toLowerCase() === plain);
  if (spelled !== undefined) return spelled;
  const synonym = SYNONYMS[plain];
  if (synonym !== undefined && (synonym === "stage" || typeof value === "function")) return synonym;
  // Methods of a hook's own may well be one letter away from these: `stats`, `states`.
  const near = HOOK_SETTINGS.filter((setting) => !["name", "state", "load"].includes(setting));
  return near.find((setting) => distance(plain, setting.toLowerCase()) === 1 && wouldDo(setting, value));
}

function wouldDo(setting: string, value: unknown): boolean {
  if (setting === "probes") return typeof value === "object" && value !== null && "match" in value;
  const { test } = SETTINGS[setting as keyof typeof SETTINGS];
  return test(value) || (setting === "needs" && test([value]));
}

function methodsOf(hook: Hook): Map<string, AnyMethod> {
  const found = new Map<string, AnyMethod>();
  const methods = new Map(hookEvents().map((event) => [methodOf(event) as string, event]));
  checkOwnFields(hook);
  const lowerCase = new Set([...methods.keys()].map((method) => method.toLowerCase()));
  for (const key of propertyNames(hook)) {
    // `onstepEnd` and `on_step_end` are meant as events as well; `once` and `online` are not.
    const value = (hook as unknown as Record<string, unknown>)[key];
    if (typeof value === "function" && methods.has(methodOf(key))) {
      throw new HookRegistrationError(
        `Hook \`${hook.name}\`: the method of event \`${key}\` is called \`${methodOf(key)}\`.`,
      );
    }
    const isMisspelt = (): boolean =>
      /^on/i.test(key) && typeof value === "function" && nearest(key, methods.keys()) !== undefined;
    const meant = /^on[A-Z_]/.test(key) || lowerCase.has(key.toLowerCase()) || isMisspelt();
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
