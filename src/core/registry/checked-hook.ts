// A hook with its settings checked and completed, and its methods found. Mistakes are errors that name the hook.
import { HookRegistrationError } from "../errors.ts";
import { hookEvents, methodOf } from "../events.ts";
import type { Ordered } from "./hook-order.ts";
import { ERROR_POLICIES, NEEDS, STAGES, type ErrorPolicy, type Hook, type Stage } from "../hook.ts";
import { distance, nearest } from "../names.ts";
import { checkOptions, is, show } from "../options.ts";

type AnyMethod = (this: unknown, ctx: never) => unknown;

const names = is.or(is.name, is.arrayOf(is.name));
/** Settings of a hook. Everything else that starts with `on` must be the method of an event. */
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
const SETTING_NAMES = Object.keys(SETTINGS);

export class CheckedHook implements Ordered {
  readonly hook: Hook;
  readonly name: string;
  readonly stage: Stage;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly policy: ErrorPolicy;
  /** Loggers and progress: they only report, so their failures must not end a run. */
  readonly isReporter: boolean;
  /** By event. */
  readonly methods: ReadonlyMap<string, AnyMethod>;

  constructor(hook: Hook) {
    checkSettings(hook);
    this.hook = hook;
    this.name = hook.name;
    this.stage = hook.stage ?? "user";
    this.before = list(hook.before);
    this.after = list(hook.after);
    this.isReporter = this.stage === "logger" || this.stage === "progress";
    this.policy = hook.onError ?? (this.isReporter ? "warn" : "throw");
    this.methods = methodsOf(hook);
  }
}

function checkSettings(hook: Hook): void {
  if (typeof hook !== "object" || hook === null) {
    const given: unknown = hook;
    const call = typeof given === "function" ? ` Is it to be called, as in ${given.name || "earlyStopping"}()?` : "";
    throw new HookRegistrationError(`A hook is an object with a \`name\`, got ${show(hook)}.${call}`);
  }
  const { name } = hook;
  if (typeof name !== "string" || name === "") {
    throw new HookRegistrationError(`A hook needs a \`name\`: { name: "myHook", onStepEnd(ctx) { … } }.`);
  }
  const values = hook as unknown as Record<string, unknown>;
  const settings = Object.fromEntries(SETTING_NAMES.map((key) => [key, values[key]]));
  checkOptions(`Hook \`${name}\``, settings, SETTINGS);
}

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

/** What other systems call a setting. All but `priority` are meant only when they are methods. */
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
 * A hook may have fields of its own, so an unknown key is not always a mistake. It is one when it is a setting in another
 * case or with underscores, another system's name for one, or one letter away from a setting that is not given, with a
 * value that this setting accepts.
 */
function checkOwnFields(hook: Hook): void {
  const values = hook as unknown as Record<string, unknown>;
  for (const key of propertyNames(hook)) {
    if (key === "constructor" || SETTING_NAMES.includes(key)) continue;
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
  const spelled = SETTING_NAMES.find((setting) => setting.toLowerCase() === plain);
  if (spelled !== undefined) return spelled;
  const synonym = SYNONYMS[plain];
  if (synonym !== undefined && (synonym === "stage" || typeof value === "function")) return synonym;
  // A hook's own methods are often one letter away from these: `stats`, `states`.
  const near = SETTING_NAMES.filter((setting) => !["name", "state", "load"].includes(setting));
  return near.find((setting) => distance(plain, setting.toLowerCase()) === 1 && accepts(setting, value));
}

function accepts(setting: string, value: unknown): boolean {
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
    if (!meant || SETTING_NAMES.includes(key)) continue;
    const event = methods.get(key);
    if (event === undefined) {
      const near = nearest(key, methods.keys());
      throw new HookRegistrationError(
        `Hook \`${hook.name}\` has a method \`${key}\`, but there is no such event.${near ? ` Did you mean \`${near}\`?` : ""} Define custom events with defineEvent().`,
      );
    }
    if (value === undefined) continue;
    if (typeof value !== "function")
      throw new HookRegistrationError(`Hook \`${hook.name}\`: \`${key}\` must be a function, got ${typeof value}.`);
    found.set(event, value as AnyMethod);
  }
  return found;
}
