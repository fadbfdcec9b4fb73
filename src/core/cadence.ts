// Cadence: one grammar for how often something happens, for hooks, evaluation, saves and logs alike.
import type { Clock, Counters, Occasion } from "./loop/counters.ts";
import { OptionError } from "./errors.ts";
import { levelOf } from "./events.ts";
import { checkOptions, is, show } from "./options.ts";
import { didYouMean } from "./names.ts";

/**
 * How much: a bare number counts the unit of its event (epochs on epoch events, batches on batch events, else steps),
 * or `"2 epochs"`, `"500 steps"`, `"10 batches"`, `"1e6 tokens"`, `"4096 samples"`, `"30 s"`, `"5 min"`, `"2 h"`, `"10%"` of the run.
 */
export type Quantity = number | string;

/** A cadence in full: how often, between which points, and at which others. */
export interface CadenceOptions {
  readonly every?: Quantity;
  /** Not before this much has passed. */
  readonly from?: Quantity;
  /** Not after this much has passed. */
  readonly until?: Quantity;
  /** At exactly these points; joined with `every` when both are given. */
  readonly at?: readonly Quantity[];
  /** The share of occasions, from 0 to 1, chosen by a hash of seed, hook and step. */
  readonly sample?: number;
  /** Also the last occasion of the run, unless the run fails; alone, only that one. */
  readonly atEnd?: boolean;
}

/** How often, wherever that is asked: `100`, `"2 epochs"`, `"10%"`, `{ every: 100, from: "1 epoch" }`. */
export type Cadence = Quantity | CadenceOptions;

/** What decides whether a cadence is due. */
export interface Moment {
  readonly clock: Clock;
  readonly seed: number;
  readonly totalSteps: number | undefined;
  /** Batches in an epoch; undefined where streams or chance decide it. */
  readonly epochBatches: number | undefined;
  /** Micro-batches in the current step, at most. */
  readonly accumulate: number;
}

type Unit = keyof Counters | "percent";
interface Amount {
  readonly value: number;
  readonly unit: Unit;
}
/** A counter at the occasion before, and now. */
type Span = readonly [before: number, now: number];
interface CountedAmount {
  readonly value: number;
  readonly unit: keyof Counters;
}

const UNITS: Readonly<Record<string, { unit: Unit; scale: number }>> = {
  step: { unit: "step", scale: 1 },
  epoch: { unit: "epoch", scale: 1 },
  batch: { unit: "batches", scale: 1 },
  sample: { unit: "samples", scale: 1 },
  token: { unit: "tokens", scale: 1 },
  ms: { unit: "elapsed", scale: 1 },
  s: { unit: "elapsed", scale: 1000 },
  sec: { unit: "elapsed", scale: 1000 },
  second: { unit: "elapsed", scale: 1000 },
  min: { unit: "elapsed", scale: 60_000 },
  minute: { unit: "elapsed", scale: 60_000 },
  h: { unit: "elapsed", scale: 3_600_000 },
  hour: { unit: "elapsed", scale: 3_600_000 },
};
const UNIT_NAMES = ["steps", "epochs", "batches", "samples", "tokens", "ms", "s", "min", "h", "%"];
const singular = (word: string): string =>
  word === "batches" ? "batch" : word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word;

/** Reads `"500 steps"` or a number into an amount; `bare` is the unit of a number without one. */
export function parseQuantity(what: string, quantity: Quantity, bare: keyof Counters): Amount {
  const [, digits, word] = /^\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]+|%)?\s*$/i.exec(String(quantity)) ?? [];
  const value = Number(digits);
  if (digits === undefined || !Number.isFinite(value) || value < 0) {
    throw new OptionError(
      `Expected \`${what}\` to be a number or a quantity like "500 steps", "2 epochs", "5 min" or "10%", got ${show(quantity)}`,
    );
  }
  if (word === undefined) return { value, unit: bare };
  if (word === "%") return { value, unit: "percent" };
  const known = UNITS[singular(word.toLowerCase())];
  if (!known)
    throw new OptionError(
      `\`${what}\`: unknown unit "${word}".${didYouMean(word, UNIT_NAMES)} Units: ${UNIT_NAMES.join(", ")}.`,
    );
  return { value: value * known.scale, unit: known.unit };
}

/** The unit of a bare number on an event. */
export function bareUnit(event: string): keyof Counters {
  const level = levelOf(event);
  if (level === "epoch") return "epoch";
  return level === "batch" || level === "forward / backward" ? "batches" : "step";
}

/** The kind of occasion that an event belongs to: what lies between two of them decides. */
function occasionOf(event: string): Occasion {
  const level = levelOf(event);
  if (level === "forward / backward") return "batch";
  return level === "batch" || level === "epoch" || level === "eval" || level === "log" ? level : "step";
}

/** Events at the beginning of a step or epoch: nothing of it has been counted yet, so they look at the one before. */
const BEGINS = new Set(["stepBegin", "epochBegin"]);

/** Events that come after the update: the time of their step is final. */
const AFTER_UPDATE = new Set([
  "stepEnd",
  "epochEnd",
  "evalBegin",
  "evalBatchBegin",
  "evalBatchEnd",
  "evalEnd",
  "log",
  "trainEnd",
]);

/** FNV-1a over the parts, finished with a mixer: the same choice for the same seed, hook and step, on every machine. */
function hash01(seed: number, name: string, step: number): number {
  let h = 0x811c9dc5;
  for (const char of `${seed}|${name}|${step}`) h = Math.imul(h ^ char.codePointAt(0)!, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32;
}

const CHECKS = {
  every: is.or(is.positive, is.name),
  from: is.or(is.nonNegative, is.name),
  until: is.or(is.nonNegative, is.name),
  at: is.arrayOf(is.or(is.nonNegative, is.name)),
  sample: is.between(0, 1),
  atEnd: is.boolean,
};

/** `floor(now / value)`, where 0.3 / 0.1 is 3: both may be off by the last bit. */
const multiples = (now: number, value: number): number => Math.floor((now / value) * (1 + 4 * Number.EPSILON));

const reaches = (now: number, value: number): boolean => now * (1 + 4 * Number.EPSILON) >= value;

const isWholeEpochs = ({ value, unit }: Amount): boolean => unit === "epoch" && Number.isInteger(value);

/** A parsed cadence. `due` is a pure function of the clock. */
export class CadenceRule {
  readonly atEnd: boolean;
  /** The event at which it is asked. */
  readonly event: string;
  readonly #every: Amount | undefined;
  readonly #from: Amount | undefined;
  readonly #until: Amount | undefined;
  readonly #at: readonly Amount[];
  readonly #sample: number | undefined;
  /** `{ atEnd: true }` says nothing else: no occasion but the last. */
  readonly #onlyAtEnd: boolean;
  readonly #name: string;
  readonly #occasion: Occasion;
  /** The record of an epoch is logged at its end, after that of its last step: there only what is done counts. */
  readonly #endsOfEpochs: boolean;

  constructor(what: string, cadence: Cadence, event: string, name = what) {
    const options: CadenceOptions = typeof cadence === "object" ? cadence : { every: cadence };
    checkOptions(what, options, CHECKS);
    const bare = bareUnit(event);
    const parse = (key: string, quantity: Quantity | undefined): Amount | undefined =>
      quantity === undefined
        ? undefined
        : parseQuantity(typeof cadence === "object" ? `${what}.${key}` : what, quantity, bare);
    this.#every = parse("every", options.every);
    if (this.#every?.value === 0)
      throw new OptionError(`Expected \`${what}.every\` to be more than 0, got ${show(options.every)}`);
    this.#from = parse("from", options.from);
    this.#until = parse("until", options.until);
    this.#at = (options.at ?? []).map((quantity) => parse("at", quantity)!);
    this.#sample = options.sample;
    this.atEnd = options.atEnd ?? false;
    const { every, at, from, until, sample } = options;
    this.#onlyAtEnd = this.atEnd && [every, at, from, until, sample].every((option) => option === undefined);
    this.event = event;
    this.#name = name;
    this.#occasion = occasionOf(event);
    this.#endsOfEpochs = event === "log" && boundaryEvent(what, cadence) === "epochEnd";
  }

  due(moment: Moment): boolean {
    return this.#holds(moment, false);
  }

  /**
   * Asked at the beginning of a step about an event inside it: false only when it is certain that it will not be due.
   * Samples, tokens and the time at its end are not known by then, nor shares of a run without a length.
   */
  mayBeDue(moment: Moment): boolean {
    const amounts = [this.#every, this.#from, this.#until, ...this.#at];
    if (amounts.some((amount) => amount !== undefined && !this.#isKnownAtBegin(amount.unit, moment))) return true;
    return this.#holds(moment, true);
  }

  #isKnownAtBegin(unit: Unit, { totalSteps }: Moment): boolean {
    if (unit === "percent") return totalSteps !== undefined;
    if (unit === "step" || unit === "epoch") return true;
    const isInside = this.#occasion === "batch" || this.#occasion === "step";
    // Inside a step the time is that of its beginning.
    return isInside && (unit === "batches" || (unit === "elapsed" && !AFTER_UPDATE.has(this.event)));
  }

  /** `ahead`: at the beginning of a step, about all of its micro-batches. No closures: hooks ask in every step. */
  #holds(moment: Moment, ahead: boolean): boolean {
    if (this.#onlyAtEnd) return false;
    if (this.#from && !this.#hasBegun(this.#counted(this.#from, moment), moment, ahead)) return false;
    if (this.#until && this.#isOver(this.#counted(this.#until, moment), moment, ahead)) return false;
    const on = this.#every ? this.#crossed(this.#counted(this.#every, moment), moment, ahead) : this.#at.length === 0;
    if (!on && !this.#at.some((amount) => this.#passedOnce(this.#counted(amount, moment), moment, ahead))) return false;
    return this.#sample === undefined || hash01(moment.seed, this.#name, moment.clock.now.step) < this.#sample;
  }

  #crossed({ value, unit }: CountedAmount, moment: Moment, ahead: boolean): boolean {
    const [before, now] = this.#span(unit, moment, ahead);
    // Nothing is due at zero, although "one before zero" lies below it.
    return multiples(now, value) > multiples(Math.max(0, before), value);
  }

  #passedOnce({ value, unit }: CountedAmount, moment: Moment, ahead: boolean): boolean {
    const [before, now] = this.#span(unit, moment, ahead);
    return !reaches(before, value) && reaches(now, value);
  }

  /** An epoch has passed when the next one begins, so the step that completes it does not count yet. */
  #hasBegun({ value, unit }: CountedAmount, moment: Moment, ahead: boolean): boolean {
    const isInside = this.#occasion === "batch" || this.#occasion === "step";
    if (unit !== "epoch" || !isInside) return reaches(this.#span(unit, moment, ahead)[1], value);
    const { clock } = moment;
    return reaches(Math.max(clock.before("step").progress, clock.now.epochsDone), value);
  }

  #isOver({ value, unit }: CountedAmount, moment: Moment, ahead: boolean): boolean {
    const { now } = moment.clock;
    // Without a known length, the current epoch counts as whole.
    if (unit === "epoch")
      return !reaches(
        value,
        this.#occasion === "epoch" || moment.epochBatches === undefined ? now.epoch : now.progress,
      );
    // The first of a step's micro-batches decides.
    if (ahead && unit === "batches") return !reaches(value, now.batches + 1);
    return !reaches(value, this.#span(unit, moment, ahead)[1]);
  }

  /** The amount in what the run counts: a share of the run as steps. */
  #counted({ value, unit }: Amount, { totalSteps, epochBatches }: Moment): CountedAmount {
    if (unit === "epoch" && epochBatches === undefined && this.#occasion !== "epoch" && !Number.isInteger(value)) {
      throw new OptionError(
        `\`${this.#name}\`: a cadence of ${value} epochs needs the number of batches in an epoch, which is not known here (a stream, or a mix that chance decides). Use whole epochs, steps or samples.`,
      );
    }
    if (unit !== "percent") return { value, unit };
    if (totalSteps === undefined) {
      throw new OptionError(
        `\`${this.#name}\`: a cadence in % needs the length of the run, which is not known here. Set \`steps\` or \`epochs\`, or use steps.`,
      );
    }
    return { value: (value * totalSteps) / 100, unit: "step" };
  }

  /** Value of a unit at the occasion before and now. */
  #span(unit: keyof Counters, { clock, accumulate }: Moment, ahead: boolean): Span {
    const occasion = this.#occasion;
    const { now } = clock;
    if (ahead && unit === "batches") return [now.batches, now.batches + accumulate];
    // What an occasion counts itself moves by one, wherever the marks are.
    if (unit === "batches" && occasion === "batch") {
      const atHand = this.event === "beforeFetch" ? now.batches + 1 : now.batches;
      return [atHand - 1, atHand];
    }
    if (unit === "epoch" && occasion === "epoch") return [now.epoch - 1, now.epoch];
    if (unit === "step" && (occasion === "step" || occasion === "batch")) return [now.step - 1, now.step];
    const [from, to] = this.#window(unit, clock);
    if (unit !== "epoch") return [from[unit], to[unit]];
    return this.#endsOfEpochs ? [from.epochsDone, to.epochsDone] : [from.progress, to.progress];
  }

  /** The counters between which a multiple must lie. */
  #window(unit: keyof Counters, clock: Clock): [from: Counters, to: Counters] {
    // Epochs and time do not move within a step: all its batches see the same.
    const occasion = this.#occasion === "batch" && (unit === "epoch" || unit === "elapsed") ? "step" : this.#occasion;
    const notYet = BEGINS.has(this.event) ? unit !== "epoch" : unit === "elapsed" && !AFTER_UPDATE.has(this.event);
    return notYet ? [clock.earlier(occasion), clock.before(occasion)] : [clock.before(occasion), clock.now];
  }
}

/** Where the loop asks a cadence: at the ends of epochs when it counts whole ones, otherwise after steps. */
export function boundaryEvent(what: string, cadence: Cadence): "stepEnd" | "epochEnd" {
  const { every, at = [] } = typeof cadence === "object" ? cadence : { every: cadence };
  const [deciding, ...rest] = [...(every === undefined ? [] : [every]), ...at];
  if (deciding === undefined || !isWholeEpochs(parseQuantity(what, deciding, "step"))) return "stepEnd";
  return rest.every((quantity) => isWholeEpochs(parseQuantity(what, quantity, "epoch"))) ? "epochEnd" : "stepEnd";
}

/**
 * The cadence with this unit on its bare numbers, which otherwise count the event at which the cadence is asked. For hooks
 * that ask the same cadence at several events.
 */
export function withUnit(cadence: Cadence, unit: "steps" | "epochs"): Cadence {
  const named = (quantity: Quantity): Quantity =>
    /[a-z%]\s*$/i.test(String(quantity)) ? quantity : `${quantity} ${unit}`;
  if (typeof cadence !== "object") return named(cadence);
  const { every, from, until, at } = cadence;
  return {
    ...cadence,
    ...(every !== undefined && { every: named(every) }),
    ...(from !== undefined && { from: named(from) }),
    ...(until !== undefined && { until: named(until) }),
    ...(at && { at: at.map(named) }),
  };
}

/** A cadence that the loop asks at its boundaries. */
export function boundaryRule(what: string, cadence: Cadence): CadenceRule {
  // Made first: it checks the options.
  const rule = new CadenceRule(what, cadence, "stepEnd");
  return boundaryEvent(what, cadence) === "stepEnd" ? rule : new CadenceRule(what, cadence, "epochEnd");
}

/** Checks a cadence that a hook takes as an option and asks of `ctx.due`: a mistake is an error at construction. */
export function checkCadence(what: string, cadence: Cadence): void {
  void new CadenceRule(what, cadence, "stepEnd");
}

type Rules = Map<string, CadenceRule>;

/** The cadences that one hook passes to `ctx.due`, parsed once for each event. */
export class DueRules {
  readonly #hook: string;
  /** By event and, for a cadence that is a number or a string, its text. */
  readonly #plain: Rules = new Map();
  readonly #objects = new WeakMap<object, Rules>();

  constructor(hook: string) {
    this.#hook = hook;
  }

  due(cadence: Cadence, event: string, moment: Moment): boolean {
    const isObject = typeof cadence === "object";
    const rules = isObject ? this.#rulesOf(cadence) : this.#plain;
    const key = isObject ? event : `${event} ${typeof cadence} ${cadence}`;
    let rule = rules.get(key);
    if (!rule) rules.set(key, (rule = new CadenceRule("ctx.due", cadence, event, this.#hook)));
    return rule.due(moment);
  }

  #rulesOf(cadence: object): Rules {
    let rules = this.#objects.get(cadence);
    if (!rules) this.#objects.set(cadence, (rules = new Map()));
    return rules;
  }
}
