// One registered hook with its context: its methods behind its scopes and its cadence.
import { boundaryEvent, CadenceRule, type Cadence, type Moment } from "../cadence.ts";
import { CheckedHook } from "./checked-hook.ts";
import { Context, fieldsOf } from "../context.ts";
import type { Listener } from "./dispatch.ts";
import { HookRegistrationError } from "../errors.ts";
import { alwaysPasses, EVENTS, levelOf } from "../events.ts";
import type { Hook, Need } from "../hook.ts";
import { checkProbe, TRAIN_PROBE_EVENTS, type ProbeRequest } from "../inspection.ts";
import type { Run } from "../loop/run.ts";

/** Listeners of these events decide into which programs a step is cut. */
const PLAN_EVENTS = Object.keys(EVENTS).filter((event) => {
  const level = levelOf(event);
  return level === "optimizer" || (level === "forward / backward" && event !== "beforeForward");
});

type Call = (ctx: Context) => unknown;

export class HookEntry extends CheckedHook {
  readonly needs: readonly Need[];
  readonly probes: ProbeRequest | undefined;
  readonly context: Context;
  enabled = true;
  /** Consecutive failures, for hooks that are switched off after three. */
  failures = 0;
  readonly #loaders: ReadonlySet<string> | undefined;
  readonly #optimizers: ReadonlySet<string | number> | undefined;
  readonly #gate: Gate | undefined;
  readonly #logRequest: LogRequest | undefined;
  readonly #run: Run;

  constructor(hook: Hook, run: Run) {
    super(hook);
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
    if (this.methods.has("log"))
      this.#logRequest = LogRequest.of(logEvery === undefined ? cadences : [logEvery], this.name);
    this.#checkReplace();
  }

  get events(): string[] {
    return [...this.methods.keys()];
  }

  /** Has it a cadence that decides, from step to step, how the step must be computed? */
  get gatesPlan(): boolean {
    if (this.#gate === undefined) return false;
    return this.needs.length > 0 || this.probes !== undefined || PLAN_EVENTS.some((event) => this.methods.has(event));
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
    return this.methods.has(event) && (this.#gate?.mayPass(event) ?? true);
  }

  /** Does it need `need` in the step that begins? */
  needsNow(need: Need): boolean {
    if (!this.needs.includes(need)) return false;
    return this.#gate === undefined || this.methods.size === 0 || this.events.some((event) => this.listensNow(event));
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

  /** Activations are not replaced in training, so a hook that also looks at them there would see others than it expects. */
  #checkReplace(): void {
    const event = TRAIN_PROBE_EVENTS.find((each) => this.methods.has(each));
    if (this.probes?.replace === undefined || event === undefined) return;
    throw new HookRegistrationError(
      `Hook \`${this.name}\` has probes.replace, which works in evaluation and predict only, and listens to \`${event}\` in training. Put what it does there into a hook of its own; to train another model, change the model.`,
    );
  }

  /** This hook as a listener of `event`, or undefined when it does not listen. */
  listener(event: string): Listener | undefined {
    const own = this.methods.get(event);
    const gate = this.#gate;
    const serves = event === "trainEnd" && gate?.servesTheEnd === true;
    if (!own && !serves) return undefined;
    const { hook, context } = this;
    // Bound, not wrapped: V8 inlines the method through `bind`.
    let call: Call = own ? (own.bind(hook) as Call) : () => undefined;
    // A call that succeeds resets the count of consecutive failures; one that a scope or a cadence holds back does not.
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
    return { hook: this.name, entry: this, call, ctx: context };
  }

  /** Holds back boundaries that only other hooks asked for. */
  #whenLogged(call: Call): Call {
    const run = this.#run;
    const request = this.#logRequest;
    if (!request) return onlyWhen(() => run.log.isForAll, call);
    // A gate holds back everything else anyway.
    return this.#gate ? call : onlyWhen(() => run.log.isForAll || request.isMet(run.moment), call);
  }

  #countingFailures(call: Call): Call {
    return (ctx) => {
      const result = call(ctx);
      if (this.failures === 0) return result;
      if (result instanceof Promise) return result.then(() => void (this.failures = 0));
      this.failures = 0;
      return result;
    };
  }
}

function onlyWhen(test: (ctx: Context) => boolean, call: Call): Call {
  return (ctx) => (test(ctx) ? call(ctx) : undefined);
}

/** The cadence of a hook: which of its events pass now, and which it still has to see at the end of the run. */
class Gate {
  readonly #cadences: readonly Cadence[];
  readonly #hook: string;
  readonly #moment: () => Moment;
  readonly #rules = new Map<string, readonly CadenceRule[]>();
  /** Events whose last occasion was held back: with `atEnd` they are called at the end of the run. */
  readonly #heldBack = new Map<string, Call>();

  /** Several cadences must all be due. */
  constructor(cadences: readonly Cadence[], hook: string, moment: () => Moment) {
    this.#cadences = cadences;
    this.#hook = hook;
    this.#moment = moment;
    // A mistake in the cadence is an error now, not at the first event.
    this.#rulesOf("stepEnd");
  }

  /** The call behind the gate. */
  guard(event: string, call: Call): Call {
    if (alwaysPasses(event)) return call;
    const rules = this.#rulesOf(event);
    const atEnd = rules.some((rule) => rule.atEnd);
    return (ctx) => {
      const due = rules.every((rule) => rule.due(this.#moment()));
      if (!due && !atEnd) return undefined;
      if (due) this.#heldBack.delete(event);
      else this.#heldBack.set(event, call);
      return due ? call(ctx) : undefined;
    };
  }

  /** Whether `event` may pass in the step that begins; true when only the step itself will tell. */
  mayPass(event: string): boolean {
    const moment = this.#moment();
    if (alwaysPasses(event) || this.#rulesOf(event).every((rule) => rule.mayBeDue(moment))) return true;
    // The last step is what `atEnd` will look at.
    return this.servesTheEnd && moment.clock.now.step === moment.totalSteps;
  }

  /** Calls what was held back last, with the fields of its event. Not after a failure: that step was interrupted. */
  async finish(ctx: Context): Promise<void> {
    const missed = [...this.#heldBack];
    this.#heldBack.clear();
    if (ctx.status === "error") return;
    for (const [event, call] of missed) await ctx.recall(event, () => call(ctx) as void | Promise<void>);
  }

  get servesTheEnd(): boolean {
    return this.#rulesOf("stepEnd").some((rule) => rule.atEnd);
  }

  #rulesOf(event: string): readonly CadenceRule[] {
    let rules = this.#rules.get(event);
    if (!rules) {
      rules = this.#cadences.map(
        (cadence) => new CadenceRule(`Hook \`${this.#hook}\`: every`, cadence, event, this.#hook),
      );
      this.#rules.set(event, rules);
    }
    return rules;
  }
}

/** Does it name points of the run? Other cadences choose among the boundaries that log anyway. */
const namesPoints = (cadence: Cadence): boolean =>
  typeof cadence !== "object" || cadence.every !== undefined || cadence.at !== undefined;

/** A hook's own cadence for `log`: the event fires for it also where the trainer's `logEvery` is not due. */
class LogRequest {
  readonly #boundary: "stepEnd" | "epochEnd";
  readonly #rules: readonly CadenceRule[];
  readonly #logRules: readonly CadenceRule[];

  /** The request that a hook's cadences make, all of which must be due; undefined when they name no points. */
  static of(cadences: readonly Cadence[], hook: string): LogRequest | undefined {
    return cadences.some(namesPoints) ? new LogRequest(cadences, hook) : undefined;
  }

  constructor(cadences: readonly Cadence[], hook: string) {
    const what = `Hook \`${hook}\`: logEvery`;
    const inEpochs = cadences.every((cadence) => boundaryEvent(what, cadence) === "epochEnd");
    this.#boundary = inEpochs ? "epochEnd" : "stepEnd";
    this.#rules = cadences.map((cadence) => new CadenceRule(what, cadence, this.#boundary, hook));
    this.#logRules = cadences.map((cadence) => new CadenceRule(what, cadence, "log", hook));
  }

  /** Asked at a boundary: must `log` fire for this hook? */
  due(boundary: "stepEnd" | "epochEnd", moment: Moment): boolean {
    return boundary === this.#boundary && this.#rules.every((rule) => rule.due(moment));
  }

  /** Asked in `log`: does it fire for this hook? */
  isMet(moment: Moment): boolean {
    return this.#logRules.every((rule) => rule.due(moment));
  }
}
