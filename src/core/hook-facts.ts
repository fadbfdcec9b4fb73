// What a hook says about itself: its settings checked and completed, its methods found.
import { HookRegistrationError } from "./errors.ts";
import { hookEvents, methodOf } from "./events.ts";
import { ERROR_POLICIES, type ErrorPolicy, HOOK_SETTINGS, type Hook, NEEDS, STAGES, type Stage } from "./hook.ts";
import { checkOptions, is, show } from "./options.ts";
import { didYouMean, distance, nearest } from "./names.ts";
import { safeText } from "./safe-text.ts";
import type { HookEntry } from "./hook-entry.ts";

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

// The order of hooks at every event: stage, then registration, bent by before/after.

export interface Ordered {
  readonly name: string;
  readonly stage: Stage;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Why a hook stands where it stands, for `hooks.explain()`. */
interface Placed<T extends Ordered> {
  readonly item: T;
  readonly because: string;
}

/** One cycle among the items that could not be placed, as `a → b → a`. */
function describeCycle(names: ReadonlySet<string>, mustFollow: ReadonlyMap<string, ReadonlySet<string>>): string {
  const path: string[] = [];
  let at = [...names][0]!;
  while (!path.includes(at)) {
    path.push(at);
    at = [...mustFollow.get(at)!].find((name) => names.has(name))!;
  }
  return [...path.slice(path.indexOf(at)), at].toReversed().join(" → ");
}

/**
 * Items by stage, then registration; one that must run before another is moved up to just ahead of it. Without this
 * the other would have to wait for a later stage, and a user's hook would land behind the checkpoints.
 */
function inLine<T extends Ordered>(items: readonly T[]): T[] {
  const sorted = items.toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage));
  const place = new Map(sorted.map((item, i) => [item.name, i]));
  const little = 1 / (items.length + 1);
  // As many rounds as the longest chain can have links; a cycle is found later.
  for (let round = 0; round < items.length; round++) {
    for (const { name, before } of sorted) {
      for (const other of before) place.set(name, Math.min(place.get(name)!, place.get(other)! - little));
    }
  }
  return sorted.sort((a, b) => place.get(a.name)! - place.get(b.name)!);
}

/** Sorts under the before/after constraints: always the first item in line all of whose predecessors are placed. */
export function orderHooks<T extends Ordered>(items: readonly T[]): Placed<T>[] {
  const byName = new Map(items.map((item) => [item.name, item]));
  const mustFollow = new Map<string, Set<string>>(items.map((item) => [item.name, new Set<string>()]));
  const reasons = new Map<string, string[]>();
  const constrain = (first: string, second: string, asked: T, word: string, other: string): void => {
    if (!byName.has(other)) {
      throw new HookRegistrationError(
        `Hook \`${asked.name}\` wants to run ${word} \`${other}\`, but no hook has that name.${didYouMean(other, byName.keys())} Registered: ${[...byName.keys()].join(", ")}.`,
      );
    }
    mustFollow.get(second)!.add(first);
    reasons.set(asked.name, [...(reasons.get(asked.name) ?? []), `${word} ${other}`]);
  };
  for (const item of items) {
    for (const other of item.before) constrain(item.name, other, item, "before", other);
    for (const other of item.after) constrain(other, item.name, item, "after", other);
  }
  const waiting = inLine(items);
  const placed: Placed<T>[] = [];
  const done = new Set<string>();
  while (waiting.length > 0) {
    const next = waiting.findIndex((item) => [...mustFollow.get(item.name)!].every((name) => done.has(name)));
    if (next < 0) {
      const names = new Set(waiting.map((item) => item.name));
      throw new HookRegistrationError(
        `The order of hooks has a cycle: ${describeCycle(names, mustFollow)}. Remove one of their \`before\`/\`after\` settings.`,
      );
    }
    const [item] = waiting.splice(next, 1) as [T];
    done.add(item.name);
    placed.push({ item, because: [`stage ${item.stage}`, ...(reasons.get(item.name) ?? [])].join(", ") });
  }
  return placed;
}

// `hooks.explain()`: who runs at which event, in which order, and why.

/** For one event, or for all that have listeners. */
export function explainHooks(entries: readonly HookEntry[], event?: string): string {
  const events = event === undefined ? hookEvents() : [event];
  const placed = orderHooks(entries);
  const blocks = events.map((name) => {
    const rows = placed.filter(({ item }) => item.events.includes(name));
    if (rows.length === 0) return event === undefined ? "" : `${name}\n  nobody listens`;
    const lines = rows.map(
      ({ item, because }, i) => `  ${i + 1}. ${item.name}${item.enabled ? "" : " (disabled)"}  [${because}]`,
    );
    return [name, ...lines].join("\n");
  });
  return safeText(blocks.filter(Boolean).join("\n"));
}
