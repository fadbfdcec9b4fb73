// One registered hook: its settings checked and completed, its methods found, its context made.
import { CadenceRule, type Cadence, type Moment } from "./cadence.ts";
import { Context, type RunView } from "./context.ts";
import type { Listener } from "./dispatch.ts";
import { HookRegistrationError } from "./errors.ts";
import { allEvents, EVENTS, methodOf, type BuiltinEvent } from "./events.ts";
import {
  ERROR_POLICIES,
  HOOK_SETTINGS,
  NEEDS,
  STAGES,
  type ErrorPolicy,
  type Hook,
  type Need,
  type Stage,
} from "./hook.ts";
import { checkOptions, is, show } from "./options.ts";
import type { Ordered } from "./order.ts";
import { nearest } from "./suggest.ts";

type AnyMethod = (this: unknown, ctx: Context) => unknown;

const names = is.or(is.name, is.arrayOf(is.name));
const SETTINGS = {
  name: is.name,
  stage: is.oneOf(...STAGES),
  before: names,
  after: names,
  onError: is.oneOf(...ERROR_POLICIES),
  needs: is.arrayOf(is.oneOf(...NEEDS)),
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

export class HookEntry implements Ordered {
  readonly hook: Hook;
  readonly name: string;
  readonly stage: Stage;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly policy: ErrorPolicy;
  readonly needs: readonly Need[];
  readonly context: Context;
  enabled = true;
  /** Failures in a row, for hooks that are switched off after three. */
  failures = 0;
  readonly #methods = new Map<string, AnyMethod>();
  readonly #loaders: ReadonlySet<string> | undefined;
  readonly #optimizers: ReadonlySet<string | number> | undefined;

  constructor(hook: Hook, run: RunView) {
    if (typeof hook !== "object" || hook === null)
      throw new HookRegistrationError(`A hook is an object with a \`name\`, got ${show(hook)}.`);
    const settings = Object.fromEntries(
      HOOK_SETTINGS.map((key) => [key, (hook as unknown as Record<string, unknown>)[key]]),
    );
    if (typeof hook.name !== "string" || hook.name === "") {
      throw new HookRegistrationError(`A hook needs a \`name\`: { name: "myHook", onStepEnd(ctx) { … } }.`);
    }
    checkOptions(`Hook \`${hook.name}\``, settings, SETTINGS);
    this.hook = hook;
    this.name = hook.name;
    this.stage = hook.stage ?? "user";
    this.before = list(hook.before);
    this.after = list(hook.after);
    this.policy = hook.onError ?? (this.isReporter ? "warn" : "throw");
    this.needs = hook.needs ?? [];
    this.#loaders = hook.loaders && new Set(hook.loaders);
    this.#optimizers = hook.optimizers && new Set(hook.optimizers);
    this.context = new Context(hook.name, run);
    this.#findMethods();
  }

  /** Loggers and progress: they only report, so their failures must not end a run. */
  get isReporter(): boolean {
    return this.stage === "logger" || this.stage === "progress";
  }

  get events(): string[] {
    return [...this.#methods.keys()];
  }

  #findMethods(): void {
    const methods = new Map(allEvents().map((event) => [methodOf(event) as string, event]));
    const lowerCase = new Set([...methods.keys()].map((method) => method.toLowerCase()));
    for (const key of propertyNames(this.hook)) {
      // `onstepEnd` and `on_step_end` are meant as events as well; `once` and `online` are not.
      const meant = /^on[A-Z_]/.test(key) || lowerCase.has(key.toLowerCase());
      if (!meant || HOOK_SETTINGS.includes(key)) continue;
      const event = methods.get(key);
      const value = (this.hook as unknown as Record<string, unknown>)[key];
      if (event === undefined) {
        const near = nearest(key, methods.keys());
        throw new HookRegistrationError(
          `Hook \`${this.name}\` has a method \`${key}\`, but there is no such event.${near ? ` Did you mean \`${near}\`?` : ""} Own events are made known by defineEvent().`,
        );
      }
      if (value === undefined) continue;
      if (typeof value !== "function")
        throw new HookRegistrationError(`Hook \`${this.name}\`: \`${key}\` must be a function, got ${typeof value}.`);
      this.#methods.set(event, value as AnyMethod);
    }
  }

  /** This hook as a listener of `event`, or undefined when it does not listen. */
  listener(event: string): Listener | undefined {
    const method = this.#methods.get(event);
    if (!method) return undefined;
    const { hook, context } = this;
    let call = (ctx: Context): unknown => method.call(hook, ctx);
    // Only these need to know that a call went well: it ends their row of failures. Calls that a scope keeps away do not.
    if (this.policy === "warn" && this.isReporter) call = this.#countingFailures(call);
    const fields: readonly string[] = Object.hasOwn(EVENTS, event) ? EVENTS[event as BuiltinEvent].fields : [];
    if (this.#loaders && fields.includes("loaderName"))
      call = onlyWhen((ctx) => this.#loaders!.has(ctx.loaderName), call);
    if (this.#optimizers && fields.includes("optimizerIdx")) {
      const mine = this.#optimizers;
      call = onlyWhen((ctx) => mine.has(ctx.optimizerIdx) || mine.has(ctx.optimizers[ctx.optimizerIdx]!.name), call);
    }
    return { hook: this.name, call, ctx: context };
  }

  #countingFailures(call: (ctx: Context) => unknown): (ctx: Context) => unknown {
    return (ctx) => {
      const result = call(ctx);
      if (this.failures === 0) return result;
      if (result instanceof Promise) return result.then(() => void (this.failures = 0));
      this.failures = 0;
      return result;
    };
  }
}

function onlyWhen(test: (ctx: Context) => boolean, call: (ctx: Context) => unknown): (ctx: Context) => unknown {
  return (ctx) => (test(ctx) ? call(ctx) : undefined);
}

/** A hook made of one function, for `trainer.on(event, cadence?, fn)`. */
export function functionHook(
  name: string,
  event: string,
  call: (ctx: never) => unknown,
  cadence: Cadence | undefined,
  moment: () => Moment,
): Hook {
  // What it returns is awaited when it can be, and else ignored.
  const fn = call as (ctx: never) => void | Promise<void>;
  if (cadence === undefined) return { name, [methodOf(event)]: fn };
  const rule = new CadenceRule(`on("${event}")`, cadence, event, name);
  // Which occasion was the last is known only when the run ends: one that was let pass is made good then.
  let passed = false;
  const method = (ctx: never): void | Promise<void> => {
    passed = !rule.due(moment());
    return passed ? undefined : fn(ctx);
  };
  if (!rule.atEnd) return { name, [methodOf(event)]: method };
  if (event === "trainEnd") return { name, [methodOf(event)]: fn };
  const atEnd = (ctx: Context): void | Promise<void> => {
    // A failed run has no last occasion to show: its step was cut off.
    const missed = passed && ctx.status !== "error";
    passed = false;
    return missed ? ctx.recall(event, () => fn(ctx as never)) : undefined;
  };
  return { name, [methodOf(event)]: method, [methodOf("trainEnd")]: atEnd };
}
