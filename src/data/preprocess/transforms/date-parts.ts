// dateParts: a date as features of the calendar.
import { component } from "../../../core/component.ts";
import { is } from "../../../core/options.ts";
import { momentsOf, numbersOf, scaleOf } from "../numbers.ts";
import { CellError, makeTransform, type Transform } from "../transform.ts";

interface Part {
  /** From 0. */
  readonly of: (date: Date) => number;
  /** After how many it begins again. */
  readonly cycle: number;
}

const DAY = 86_400_000;

const CYCLES = {
  month: { of: (date) => date.getUTCMonth(), cycle: 12 },
  day: { of: (date) => date.getUTCDate() - 1, cycle: 31 },
  weekday: { of: (date) => (date.getUTCDay() + 6) % 7, cycle: 7 },
  hour: { of: (date) => date.getUTCHours(), cycle: 24 },
  minute: { of: (date) => date.getUTCMinutes(), cycle: 60 },
} as const satisfies Record<string, Part>;

/** A part of a date. */
export type DatePart = "time" | keyof typeof CYCLES;

const PARTS: readonly DatePart[] = ["time", "month", "day", "weekday", "hour", "minute"];

/** Options of `dateParts`. */
export interface DatePartsOptions {
  /**
   * Which parts: `time` (how long ago, standardised), `month`, `day` of the month, `weekday`, `hour`, `minute`. Default:
   * time, month, weekday, and hour where the training data has times of day.
   */
  readonly parts?: readonly DatePart[];
}

interface DateState {
  readonly parts: DatePart[];
  readonly mean: number;
  readonly scale: number;
}

/**
 * The time itself, standardised, and parts of the calendar in UTC. A part that repeats is a point on a circle, two
 * features, sine and cosine: December is next to January.
 */
export const dateParts = /* @__PURE__ */ component(
  { kind: "transform", name: "dateParts", takes: () => ({ options: { parts: is.arrayOf(is.oneOf(...PARTS)) } }) },
  (options: DatePartsOptions = {}): Transform => {
    return makeTransform<DateState>("dateParts", options, {
      takes: ["date"],
      state: { parts: is.arrayOf(is.oneOf(...PARTS)), mean: is.finite, scale: is.positive },
      fit(column) {
        const values = numbersOf(column);
        const moments = momentsOf(values);
        const hasTimes = values.some((time) => time % DAY !== 0);
        const standard: DatePart[] = ["time", "month", "weekday", ...(hasTimes ? (["hour"] as const) : [])];
        const parts = options.parts === undefined ? standard : [...new Set(options.parts)];
        return { parts, mean: moments.mean, scale: scaleOf(moments, values.length) };
      },
      open({ parts, mean, scale }) {
        const date = new Date();
        return {
          features: parts.flatMap((part) => (part === "time" ? [".time"] : [`.${part}.sin`, `.${part}.cos`])),
          write(column, out, at, stride) {
            const values = numbersOf(column);
            for (let i = 0; i < values.length; i++) {
              date.setTime(values[i]!);
              let to = at + i * stride;
              for (const part of parts) {
                if (part === "time") {
                  out[to] = (values[i]! - mean) / scale;
                  if (!Number.isFinite(out[to++]))
                    throw new CellError(i, "is too far from the dates of the training data.");
                  continue;
                }
                const { of, cycle } = CYCLES[part];
                const angle = (2 * Math.PI * of(date)) / cycle;
                out[to++] = Math.sin(angle);
                out[to++] = Math.cos(angle);
              }
            }
          },
        };
      },
    });
  },
);
