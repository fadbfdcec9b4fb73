// Cadence: one grammar for how often, for hooks and for eval, save and log alike.
import type { Clock, Counters, Occasion } from "./counters.ts";
import { OptionError } from "./errors.ts";
import { levelOf } from "./events.ts";
import { checkOptions, is, show } from "./options.ts";
import { didYouMean } from "./suggest.ts";

/**
 * How much: a bare number counts the unit of its event (epochs on epoch events, batches on batch events, else steps),
 * or `"2 epochs"`, `"500 steps"`, `"10 batches"`, `"1e6 tokens"`, `"4096 samples"`, `"30 s"`, `"5 min"`, `"2 h"`, `"10%"` of the run.
 */
export type Quantity = number | string;

/** A cadence in full: how often, between which points, and where besides. */
export interface CadenceOptions {
  readonly every?: Quantity;
  /** Not before this much has passed. */
  readonly from?: Quantity;
  /** Not after this much has passed. */
  readonly until?: Quantity;
  /** Just at these points; joined with `every` when both are given. */
  readonly at?: readonly Quantity[];
  /** The share of occasions, from 0 to 1, chosen by a hash of seed, hook and step. */
  readonly sample?: number;
  /** Also the last occasion of the run, unless the run fails; alone, only that one. */
  readonly atEnd?: boolean;
}

/** How often, wherever that is asked: `100`, `"2 epochs"`, `"10%"`, `{ every: 100, from: "1 epoch" }`. */
export type Cadence = Quantity | CadenceOptions;

/** What a cadence may look at when it is asked. */
export interface Moment {
  readonly clock: Clock;
  readonly seed: number;
  readonly totalSteps: number | undefined;
}

type Unit = keyof Counters | "percent";
interface Amount {
  readonly value: number;
  readonly unit: Unit;
}
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

/** Units that do not move between the beginning of a step and the events inside it. */
const KNOWN_AT_BEGIN = new Set<Unit>(["step", "epoch"]);

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

/** A parsed cadence. `due` is a pure function of the clock. */
export class CadenceRule {
  readonly atEnd: boolean;
  /** The unit that decides, for callers that must know at which boundary to ask (epochs or steps). */
  readonly unit: Unit;
  readonly #every: Amount | undefined;
  readonly #from: Amount | undefined;
  readonly #until: Amount | undefined;
  readonly #at: readonly Amount[];
  readonly #sample: number | undefined;
  /** `{ atEnd: true }` says nothing else: no occasion but the last. */
  readonly #onlyAtEnd: boolean;
  readonly #name: string;
  readonly #event: string;
  readonly #occasion: Occasion;

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
    this.unit = this.#every?.unit ?? this.#at[0]?.unit ?? bare;
    this.#name = name;
    this.#event = event;
    this.#occasion = occasionOf(event);
  }

  due(moment: Moment): boolean {
    const { clock } = moment;
    if (this.#onlyAtEnd) return false;
    if (this.#from) {
      const { value, unit } = this.#inSteps(this.#from, moment);
      if (this.#span(unit, clock)[1] < value) return false;
    }
    if (this.#until) {
      const { value, unit } = this.#inSteps(this.#until, moment);
      // The epoch at hand counts here: after two epochs means in the third.
      if ((unit === "epoch" ? clock.now.epoch : this.#span(unit, clock)[1]) > value) return false;
    }
    const on = this.#every ? this.#crossed(this.#inSteps(this.#every, moment), clock) : this.#at.length === 0;
    if (!on && !this.#at.some((amount) => this.#passedOnce(this.#inSteps(amount, moment), clock))) return false;
    return this.#sample === undefined || hash01(moment.seed, this.#name, clock.now.step) < this.#sample;
  }

  /**
   * Asked at the beginning of a step about an event inside it: false only when it is certain that it will not be due.
   * Steps and epochs are known by then; batches, samples, tokens and time are not, nor shares of a run without a length.
   */
  mayBeDue(moment: Moment): boolean {
    const amounts = [this.#every, this.#from, this.#until, ...this.#at];
    const isKnown = ({ unit }: Amount): boolean =>
      KNOWN_AT_BEGIN.has(unit) || (unit === "percent" && moment.totalSteps !== undefined);
    const known = amounts.every((amount) => amount === undefined || isKnown(amount));
    return !known || this.due(moment);
  }

  /** A share of the run as steps. */
  #inSteps({ value, unit }: Amount, { totalSteps }: Moment): CountedAmount {
    if (unit !== "percent") return { value, unit };
    if (totalSteps === undefined) {
      throw new OptionError(
        `\`${this.#name}\`: a cadence in % needs the length of the run, which is not known here. Set \`steps\` or \`epochs\`, or use steps.`,
      );
    }
    const steps = (value * totalSteps) / 100;
    // 0.07 % of 10,000 steps must be 7, not 7.000000000000001.
    const whole = Math.round(steps);
    return { value: Math.abs(steps - whole) < 1e-9 * steps ? whole : steps, unit: "step" };
  }

  /** Value of a unit at the occasion before and now. */
  #span(unit: keyof Counters, clock: Clock): [before: number, now: number] {
    const occasion = this.#occasion;
    const { now } = clock;
    // What an occasion counts itself moves by one, wherever the marks are.
    if (unit === "batches" && occasion === "batch") {
      const atHand = this.#event === "beforeFetch" ? now.batches + 1 : now.batches;
      return [atHand - 1, atHand];
    }
    if (unit === "epoch" && occasion === "epoch") return [now.epoch - 1, now.epoch];
    if (unit === "step" && (occasion === "step" || occasion === "batch")) return [now.step - 1, now.step];
    const [from, to] = this.#window(unit, clock);
    // Elsewhere only whole epochs count.
    return unit === "epoch" ? [from.epochsDone, to.epochsDone] : [from[unit], to[unit]];
  }

  /** The counters between which a multiple must lie. */
  #window(unit: keyof Counters, clock: Clock): [from: Counters, to: Counters] {
    // Epochs and time do not move within a step: all its batches see the same.
    const occasion = this.#occasion === "batch" && (unit === "epoch" || unit === "elapsed") ? "step" : this.#occasion;
    const notYet = BEGINS.has(this.#event) ? unit !== "epoch" : unit === "elapsed" && !AFTER_UPDATE.has(this.#event);
    return notYet ? [clock.earlier(occasion), clock.before(occasion)] : [clock.before(occasion), clock.now];
  }

  #crossed({ value, unit }: CountedAmount, clock: Clock): boolean {
    const [before, now] = this.#span(unit, clock);
    // Nothing is due at zero, although "one before zero" lies below it.
    return Math.floor(now / value) > Math.floor(Math.max(0, before) / value);
  }

  #passedOnce({ value, unit }: CountedAmount, clock: Clock): boolean {
    const [before, now] = this.#span(unit, clock);
    return before < value && now >= value;
  }
}

/** A cadence that the loop asks at its boundaries: after steps, or at the end of epochs when it counts those. */
export function boundaryRule(what: string, cadence: Cadence): CadenceRule {
  const rule = new CadenceRule(what, cadence, "stepEnd");
  return rule.unit === "epoch" ? new CadenceRule(what, cadence, "epochEnd") : rule;
}

/** Checks a cadence that a hook takes as an option and asks of `ctx.due`: a mistake is an error at construction. */
export function checkCadence(what: string, cadence: Cadence): void {
  void new CadenceRule(what, cadence, "stepEnd");
}
