// Time for schedules: the position, the length of the run, and amounts such as "5%" of it.
import { OptionError } from "../../core/errors.ts";
import { type Check, is } from "../../core/options.ts";
import type { Schedule, ScheduleTime } from "../../core/optimizer.ts";

/** Whether a schedule advances with every step or with every epoch. */
export type Interval = Schedule["interval"];

/** A count in the schedule's own unit, with or without the unit's name, or a part of the run: `100`, `"100 steps"`, `"5%"`. */
export type Amount = number | `${number} ${"step" | "steps" | "epoch" | "epochs"}` | `${number}%`;

export const isInterval: Check = is.oneOf("step", "epoch");
export const isTotal: Check = is.wholeFrom(1);

/** The number of steps (or epochs) done before this one. */
export const position = (at: ScheduleTime, interval: Interval): number => at[interval];

/** The length of the run in the schedule's unit: its own `total`, or the trainer's. */
export function totalOf(owner: string, own: number | undefined, at: ScheduleTime, interval: Interval): number {
  const total = own ?? (interval === "step" ? at.totalSteps : at.totalEpochs);
  if (total === undefined) {
    throw new OptionError(
      `${owner}: needs the length of the run, and it is not known (a stream, or only a time limit). ` +
        `Give \`total\` to the schedule, in ${interval}s, or set \`steps\` or \`epochs\` on the trainer.`,
    );
  }
  return total;
}

const pattern = /^(\d+(?:\.\d+)?(?:e\d+)?)\s*(%|steps?|epochs?)$/i;

export const isAmount: Check = {
  expected: 'a whole number ≥ 0, a count such as "100 steps", or a part of the run such as "5%"',
  schema: is.or(is.wholeFrom(0), is.name).schema!,
  test: (v) => is.wholeFrom(0).test(v) || (typeof v === "string" && pattern.test(v)),
};

/** Parses an amount at construction, where mistakes are reported; the result needs the total only for a percentage. */
export function readAmount(owner: string, amount: Amount, interval: Interval): (total: () => number) => number {
  if (typeof amount === "number") return () => amount;
  const [, digits, unit] = pattern.exec(amount)!;
  const value = Number(digits);
  if (unit === "%") {
    if (value > 100) throw new OptionError(`${owner}: \`${amount}\` is more than the whole run.`);
    return (total) => Math.round((total() * value) / 100);
  }
  if (!unit!.toLowerCase().startsWith(interval)) {
    throw new OptionError(
      `${owner}: \`${amount}\` is not in ${interval}s, which this schedule counts. Say it in ${interval}s or set \`interval\`.`,
    );
  }
  if (!Number.isSafeInteger(value))
    throw new OptionError(`${owner}: \`${amount}\` is not a whole number of ${interval}s.`);
  return () => value;
}

/** A straight line from `from` at 0 to 1 at `steps`. By default the first step is above zero, since a zero rate would waste it. */
export function ramp(at: number, steps: number, from: number = 1 / (steps + 1)): number {
  return at >= steps ? 1 : from + ((1 - from) * at) / steps;
}

/** Half a cosine from `from` (progress 0) to `to` (progress 1). */
export function cosineBetween(from: number, to: number, progress: number): number {
  return to + ((from - to) * (1 + Math.cos(Math.PI * progress))) / 2;
}
