// What schedules made of schedules share: time counted from a part's own start, and one monitor and state for all.
import { OptionError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Schedule, ScheduleTime } from "../../core/schedule.ts";
import type { Interval } from "./time.ts";

/** The time as a part sees it that runs from `start` up to `end` (absent: to the end of the run). */
export function within(at: ScheduleTime, interval: Interval, start: number, end?: number): ScheduleTime {
  if (interval === "step") {
    const last = end ?? at.totalSteps;
    return { ...at, step: at.step - start, totalSteps: last === undefined ? undefined : last - start };
  }
  const last = end ?? at.totalEpochs;
  return { ...at, epoch: at.epoch - start, totalEpochs: last === undefined ? undefined : last - start };
}

/** All of a composite schedule but its factor. */
export function compose(name: string, interval: Interval, parts: readonly Schedule[]): Omit<Schedule, "factor"> {
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
  // An epoch-wise part in a step-wise whole is evaluated every step and gives the same factor all epoch long.
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
