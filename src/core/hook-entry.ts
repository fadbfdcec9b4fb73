// One registered hook: what it says about itself, with its context made and its cadence and scopes in place.
import type { Cadence, Moment } from "./cadence.ts";
import { Context, fieldsOf } from "./context.ts";
import type { Listener } from "./dispatch.ts";
import { HookRegistrationError } from "./errors.ts";
import { EVENTS, levelOf } from "./events.ts";
import { Gate } from "./gate.ts";
import { LogRequest } from "./log-request.ts";
import { readHook, type HookFacts } from "./hook-facts.ts";
import type { ErrorPolicy, Hook, Need, Stage } from "./hook.ts";
import type { Ordered } from "./order.ts";
import { checkProbe, TRAIN_PROBE_EVENTS, type ProbeRequest } from "./probes.ts";
import type { Run } from "./run.ts";

/** Listeners of these events decide into which programs a step is cut. */
const PLAN_EVENTS = Object.keys(EVENTS).filter((event) => {
  const level = levelOf(event);
  return level === "optimizer" || (level === "forward / backward" && event !== "beforeForward");
});

export class HookEntry implements Ordered {
  readonly hook: Hook;
  readonly name: string;
  readonly stage: Stage;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly policy: ErrorPolicy;
  /** Loggers and progress: their failures must not end a run. */
  readonly isReporter: boolean;
  readonly needs: readonly Need[];
  readonly probes: ProbeRequest | undefined;
  readonly context: Context;
  enabled = true;
  /** Failures in a row, for hooks that are switched off after three. */
  failures = 0;
  readonly #methods: HookFacts["methods"];
  readonly #loaders: ReadonlySet<string> | undefined;
  readonly #optimizers: ReadonlySet<string | number> | undefined;
  readonly #gate: Gate | undefined;
  readonly #logRequest: LogRequest | undefined;
  readonly #run: Run;

  constructor(hook: Hook, run: Run) {
    const { name, stage, before, after, policy, isReporter, methods } = readHook(hook);
    this.hook = hook;
    this.name = name;
    this.stage = stage;
    this.before = before;
    this.after = after;
    this.policy = policy;
    this.isReporter = isReporter;
    this.#methods = methods;
    this.needs = hook.needs ?? [];
    this.probes = hook.probes;
    if (this.probes !== undefined) checkProbe(`Hook \`${hook.name}\`: probes`, this.probes);
    this.#loaders = hook.loaders && new Set(hook.loaders);
    this.#optimizers = hook.optimizers && new Set(hook.optimizers);
    this.context = new Context(hook.name, run, this.probes, hook.ranks === "main");
    this.#run = run;
    const { every, logEvery } = hook;
    const cadences = every === undefined ? [] : Array.isArray(every) ? every : [every as Cadence];
    if (cadences.length > 0) this.#gate = new Gate(cadences, this.name, () => run.moment);
    if (methods.has("log")) this.#logRequest = LogRequest.of(logEvery === undefined ? cadences : [logEvery], this.name);
    this.#checkReplace();
  }

  get events(): string[] {
    return [...this.#methods.keys()];
  }

  /** Has it a cadence that decides, from step to step, how the step must be computed? */
  get gatesPlan(): boolean {
    if (this.#gate === undefined) return false;
    return this.needs.length > 0 || this.probes !== undefined || PLAN_EVENTS.some((event) => this.#methods.has(event));
  }

  /** Can its own cadence make `log` fire? */
  get requestsLogs(): boolean {
    return this.#logRequest !== undefined;
  }

  /** Does its own cadence ask for a log at this boundary? */
  asksForLog(boundary: "stepEnd" | "epochEnd", moment: Moment): boolean {
    return this.#logRequest?.due(boundary, moment) === true;
  }

  /** Does it listen to `event` in the step that begins, as far as can be known? */
  listensNow(event: string): boolean {
    return this.#methods.has(event) && (this.#gate?.mayPass(event) ?? true);
  }

  /** Does it need `need` in the step that begins? */
  needsNow(need: Need): boolean {
    if (!this.needs.includes(need)) return false;
    return this.#gate === undefined || this.#methods.size === 0 || this.events.some((event) => this.listensNow(event));
  }

  /** Does it look at activations in one of `events` in the step that begins? */
  probesNow(events: readonly string[]): boolean {
    return this.probes !== undefined && events.some((event) => this.listensNow(event));
  }

  /** Does it replace activations in an evaluation of this loader that begins? */
  replacesNow(loader: string): boolean {
    if (this.probes?.replace === undefined || this.#loaders?.has(loader) === false) return false;
    return this.#gate?.mayPass("evalBegin") ?? true;
  }

  /** Training on replaced activations would be another model; a hook that expects to see them there must know. */
  #checkReplace(): void {
    const event = TRAIN_PROBE_EVENTS.find((each) => this.#methods.has(each));
    if (this.probes?.replace === undefined || event === undefined) return;
    throw new HookRegistrationError(
      `Hook \`${this.name}\` has probes.replace, which works in evaluation and predict only, and listens to \`${event}\` in training. Put what it does there into a hook of its own; to train another model, change the model.`,
    );
  }

  /** This hook as a listener of `event`, or undefined when it does not listen. */
  listener(event: string): Listener | undefined {
    const own = this.#methods.get(event);
    const gate = this.#gate;
    const serves = event === "trainEnd" && gate?.servesTheEnd === true;
    if (!own && !serves) return undefined;
    const { hook, context } = this;
    // Bound, not wrapped: a compiler sees through it to the method.
    let call: (ctx: Context) => unknown = own ? (own.bind(hook) as (ctx: Context) => unknown) : () => undefined;
    // Only these need to know that a call went well: it ends their row of failures. Calls that a scope keeps away do not.
    if (this.policy === "warn" && this.isReporter) call = this.#countingFailures(call);
    const fields: readonly string[] = fieldsOf(event);
    if (this.#loaders && fields.includes("loaderName"))
      call = onlyWhen((ctx) => this.#loaders!.has(ctx.loaderName), call);
    if (this.#optimizers && fields.includes("optimizerIdx")) {
      const mine = this.#optimizers;
      call = onlyWhen((ctx) => mine.has(ctx.optimizerIdx) || mine.has(ctx.optimizers[ctx.optimizerIdx]!.name), call);
    }
    if (gate) call = gate.guard(event, call);
    if (event === "log") call = this.#whenLogged(call);
    if (serves) {
      const ended = call;
      call = (ctx) => gate.finish(ctx).then(() => ended(ctx));
    }
    return { hook: this.name, call, ctx: context };
  }

  /** Keeps boundaries away that only other hooks asked for. */
  #whenLogged(call: (ctx: Context) => unknown): (ctx: Context) => unknown {
    const run = this.#run;
    const request = this.#logRequest;
    if (!request) return onlyWhen(() => run.log.isForAll, call);
    // Behind a gate nothing else passes anyway.
    return this.#gate ? call : onlyWhen(() => run.log.isForAll || request.isMet(run.moment), call);
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
