// Schedules one after the other, as torch's SequentialLR.
import { OptionError } from "../../core/errors.ts";
import { checkOptions } from "../../core/options.ts";
import type { Schedule, ScheduleTime } from "../../core/schedule.ts";
import { isSchedule } from "../common.ts";
import { compose, within } from "./parts.ts";
import { type Amount, type Interval, isAmount, isInterval, position, readAmount, totalOf } from "./time.ts";

/** One schedule of a sequence, and where it ends. */
export interface SequencePart {
  /** Where the next part takes over, counted from the start of the run: `100`, `"100 steps"` or `"5%"`. None for the last. */
  readonly until?: Amount;
  readonly schedule: Schedule;
}

const checks = { until: isAmount, schedule: isSchedule };

/**
 * Each part runs from where the one before ended, and counts from there; its total is its own length.
 * @example sequence([{ until: "10%", schedule: linear({ start: 0.1, end: 1 }) }, { schedule: cosine() }])
 */
export function sequence(parts: readonly SequencePart[], options: { readonly interval?: Interval } = {}): Schedule {
  checkOptions("sequence", options, { interval: isInterval });
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
    throw new OptionError("sequence: the last part goes on to the end of the run; leave out its `until`.");
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
