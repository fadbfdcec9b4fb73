// Cadence: one grammar for how often, for hooks and for eval, save and log alike.
import type { Clock, Counters } from "./counters.ts";
import { OptionError } from "./errors.ts";
import { levelOf } from "./events.ts";
import { checkOptions, is, show } from "./options.ts";
import { didYouMean } from "./suggest.ts";

/**
 * How much: a bare number counts the unit of its event (epochs on epoch events, batches on batch events, else steps),
 * or `"2 epochs"`, `"500 steps"`, `"10 batches"`, `"1e6 tokens"`, `"4096 samples"`, `"30 s"`, `"5 min"`, `"2 h"`, `"10%"` of the run.
 */
export type Quantity = number | string;

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
  /** Also at the end of the run, however it ends. */
  readonly atEnd?: boolean;
}

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

const UNITS: Readonly<Record<string, { unit: Unit; scale: number }>> = {
  step: { unit: "step", scale: 1 },
  epoch: { unit: "epoch", scale: 1 },
  batch: { unit: "batches", scale: 1 },
  sample: { unit: "samples", scale: 1 },
  token: { unit: "tokens", scale: 1 },
  ms: { unit: "elapsed", scale: 1 },
  s: { unit: "elapsed", scale: 1000 },
  sec: { unit: "elapsed", scale: 1000 },
  min: { unit: "elapsed", scale: 60_000 },
  h: { unit: "elapsed", scale: 3_600_000 },
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

/** Events that come after the update: the counters of their step are final. */
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
  sample: { expected: "a number from 0 to 1", test: (v: unknown) => typeof v === "number" && v >= 0 && v <= 1 },
  atEnd: is.boolean,
};

/** A parsed cadence. `due` is a pure function of the counters. */
export class CadenceRule {
  readonly atEnd: boolean;
  /** The unit that decides, for callers that must know at which boundary to ask (epochs or steps). */
  readonly unit: Unit;
  readonly #every: Amount | undefined;
  readonly #from: Amount | undefined;
  readonly #until: Amount | undefined;
  readonly #at: readonly Amount[];
  readonly #sample: number | undefined;
  readonly #name: string;
  readonly #afterUpdate: boolean;
  readonly #onEpochs: boolean;

  constructor(what: string, cadence: Cadence, event: string, name = what) {
    const options: CadenceOptions = typeof cadence === "object" ? cadence : { every: cadence };
    checkOptions(what, options, CHECKS);
    const bare = bareUnit(event);
    const parse = (key: string, quantity: Quantity | undefined): Amount | undefined =>
      quantity === undefined ? undefined : parseQuantity(`${what}.${key}`, quantity, bare);
    this.#every = parse("every", options.every);
    if (this.#every?.value === 0)
      throw new OptionError(`Expected \`${what}.every\` to be more than 0, got ${show(options.every)}`);
    this.#from = parse("from", options.from);
    this.#until = parse("until", options.until);
    this.#at = (options.at ?? []).map((quantity) => parse("at", quantity)!);
    this.#sample = options.sample;
    this.atEnd = options.atEnd ?? false;
    this.unit = this.#every?.unit ?? this.#at[0]?.unit ?? bare;
    this.#name = name;
    this.#afterUpdate = AFTER_UPDATE.has(event);
    this.#onEpochs = levelOf(event) === "epoch";
  }

  due(moment: Moment): boolean {
    if (this.#from && this.#reached(this.#from, moment) < 1) return false;
    if (this.#until && this.#reached(this.#until, moment) > 1) return false;
    const on = this.#every ? this.#crossed(this.#every, moment) : this.#at.length === 0;
    if (!on && !this.#at.some((amount) => this.#passedOnce(amount, moment))) return false;
    return this.#sample === undefined || hash01(moment.seed, this.#name, moment.clock.now.step) < this.#sample;
  }

  /** Value of a unit at the boundary before and now. */
  #span(unit: Unit, { clock, totalSteps }: Moment): [before: number, now: number] {
    if (unit === "percent") {
      if (totalSteps === undefined) {
        throw new OptionError(
          `\`${this.#name}\`: a cadence in % needs the length of the run, which is not known here. Set \`steps\` or \`epochs\`, or use steps.`,
        );
      }
      return [(clock.before.step / totalSteps) * 100, (clock.now.step / totalSteps) * 100];
    }
    // Steps and batches (and epochs, on epoch events) move by one at a time: the occasion before is one less, wherever the marks are.
    if (unit === "step" || unit === "batches" || (unit === "epoch" && this.#onEpochs))
      return [clock.now[unit] - 1, clock.now[unit]];
    // Elsewhere an epoch is over with the first occasion after it: the epoch at hand does not count yet.
    if (unit === "epoch") return [clock.before.epoch - 1, clock.now.epoch - 1];
    if (unit === "elapsed" && !this.#afterUpdate) return [clock.earlier.elapsed, clock.before.elapsed];
    return [clock.before[unit], clock.now[unit]];
  }

  #crossed({ value, unit }: Amount, moment: Moment): boolean {
    const [before, now] = this.#span(unit, moment);
    return Math.floor(now / value) > Math.floor(before / value);
  }

  #passedOnce({ value, unit }: Amount, moment: Moment): boolean {
    const [before, now] = this.#span(unit, moment);
    return before < value && now >= value;
  }

  #reached({ value, unit }: Amount, moment: Moment): number {
    const now = this.#span(unit, moment)[1];
    return value === 0 ? (now > 0 ? 2 : 1) : now / value;
  }
}

/** A cadence that the loop asks at its boundaries: after steps, or at the end of epochs when it counts those. */
export function boundaryRule(what: string, cadence: Cadence): CadenceRule {
  const rule = new CadenceRule(what, cadence, "stepEnd");
  return rule.unit === "epoch" ? new CadenceRule(what, cadence, "epochEnd") : rule;
}
