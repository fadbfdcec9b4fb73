// Schedules made of schedules: `sequence` and `warmup`.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { checkOptions, each, is, one, type Json } from "../../core/options.ts";
import type { Schedule, ScheduleTime } from "../../core/optimizer.ts";
import { isSchedule } from "../common.ts";
import { type Amount, type Interval, isAmount, isInterval, position, ramp, readAmount, totalOf } from "./time.ts";
import { constant } from "./curves.ts";

/** One schedule of a sequence, and where it ends. */
export interface SequencePart {
  /** Where the next part takes over, counted from the start of the run: `100`, `"100 steps"` or `"5%"`. None for the last. */
  readonly until?: Amount;
  readonly schedule: Schedule;
}

const checks = { until: isAmount, schedule: isSchedule };

/**
 * Schedules one after the other, as torch's SequentialLR. Each part counts from where the one before ended, and its total
 * is its own length.
 * @example sequence([{ until: "10%", schedule: linear({ start: 0.1, end: 1 }) }, { schedule: cosine() }])
 */
export const sequence = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "sequence",
    takes: () => ({
      args: { parts: { ...is.anything, holds: each({ schedule: one("schedule") }) } },
      options: { interval: isInterval },
    }),
  },
  makeSequence,
);

function makeSequence(parts: readonly SequencePart[], options: { readonly interval?: Interval } = {}): Schedule {
  const { interval = "step" } = options;
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new OptionError("sequence: expected an array of { until, schedule }, with at least one part.");
  }
  const ends = parts.slice(0, -1).map((part: SequencePart, i) => {
    checkOptions(`sequence: part ${i}`, part, checks, ["until", "schedule"]);
    return readAmount(`sequence: part ${i}`, part.until!, interval);
  });
  const last = parts.at(-1)!;
  checkOptions("sequence: the last part", last, checks, ["schedule"]);
  if (last.until !== undefined) {
    throw new OptionError("sequence: the last part lasts until the end of the run; leave out its `until`.");
  }
  const schedules = parts.map((part) => part.schedule);
  return {
    ...compose("sequence", interval, schedules),
    factor(at: ScheduleTime) {
      const total = () => totalOf("sequence", undefined, at, interval);
      let start = 0;
      for (const [i, endOf] of ends.entries()) {
        const end = endOf(total);
        if (end < start) {
          throw new OptionError(
            `sequence: part ${i} ends at ${end}, before its start at ${start}. Order the parts by \`until\`.`,
          );
        }
        if (position(at, interval) < end) return schedules[i]!.factor(within(at, interval, start, end));
        start = end;
      }
      return last.schedule.factor(within(at, interval, start));
    },
  };
}

/** Options of `warmup`. */
export interface WarmupOptions {
  /** How long: `100`, `"100 steps"` or `"5%"` of the run. */
  readonly steps: Amount;
  /** The factor at the first step. Default 1/(steps + 1), so that no step is wasted at zero. */
  readonly from?: number;
  /** What follows; its steps count from the end of the warmup. Default: constant. */
  readonly schedule?: Schedule;
  readonly interval?: Interval;
}

/**
 * A linear rise to 1, then `schedule`.
 * @example warmup({ steps: 500, schedule: linear() })
 */
export const warmup = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "warmup",
    takes: () => ({
      options: { steps: isAmount, from: is.nonNegative, schedule: isSchedule, interval: isInterval },
      required: ["steps"],
    }),
  },
  (options: WarmupOptions): Schedule => {
    const { interval = "step", schedule = constant() } = options;
    const stepsOf = readAmount("warmup: steps", options.steps, interval);
    return {
      ...compose("warmup", interval, [schedule]),
      factor(at) {
        const steps = stepsOf(() => totalOf("warmup", undefined, at, interval));
        const t = position(at, interval);
        return t < steps ? ramp(t, steps, options.from) : schedule.factor(within(at, interval, steps));
      },
    };
  },
);

/** The time from the start of a part that runs from `start` to `end` (absent: to the end of the run). */
function within(at: ScheduleTime, interval: Interval, start: number, end?: number): ScheduleTime {
  if (interval === "step") {
    const last = end ?? at.totalSteps;
    return { ...at, step: at.step - start, totalSteps: last === undefined ? undefined : last - start };
  }
  const last = end ?? at.totalEpochs;
  return { ...at, epoch: at.epoch - start, totalEpochs: last === undefined ? undefined : last - start };
}

/** All of a composite schedule but its factor. */
function compose(name: string, interval: Interval, parts: readonly Schedule[]): Omit<Schedule, "factor"> {
  for (const part of parts) {
    if (interval === "epoch" && part.interval === "step" && part.monitor === undefined) {
      throw new OptionError(
        `${name}: counts epochs, but \`${part.name}\` in it counts steps. Give \`interval: "epoch"\` to \`${part.name}\`, or count steps in both.`,
      );
    }
  }
  const monitors = new Set(parts.flatMap((part) => part.monitor ?? []));
  if (monitors.size > 1) {
    throw new OptionError(
      `${name}: its parts monitor ${[...monitors].join(" and ")}. One schedule can watch one metric.`,
    );
  }
  const [monitor] = monitors;
  // A part that counts epochs is evaluated at every step, and gives the same factor throughout an epoch.
  const finest = parts.some((part) => part.interval === "step") ? "step" : interval;
  const own = { name, interval: finest };
  if (monitor === undefined) return own;
  return {
    ...own,
    monitor,
    observe(value) {
      for (const part of parts) part.observe?.(value);
    },
    reset() {
      for (const part of parts) part.reset?.();
    },
    state: () => parts.map((part) => part.state?.() ?? null),
    load(saved: Json) {
      if (!Array.isArray(saved) || saved.length !== parts.length) {
        throw new OptionError(`${name}: this saved state is not of a schedule with ${parts.length} parts.`);
      }
      for (const [i, part] of parts.entries()) part.load?.(saved[i] as Json);
    },
  };
}
