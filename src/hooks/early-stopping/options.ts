// The options of earlyStopping: their checks, and one tracker per metric made from them.
import { checkCadence } from "../../core/cadence.ts";
import { OptionError } from "../../core/errors.ts";
import { directionOf, didYouMean } from "../../core/names.ts";
import { is, type Check } from "../../core/options.ts";
import type { EarlyStoppingOptions, PerMonitor } from "./early-stopping.ts";
import { Tracker, type Patience } from "./tracker.ts";

const PERCENT = /^\s*([0-9.]+)\s*%\s*$/;
const PATIENCE = /^\s*([0-9]+)(?:\s*(check|epoch|step)s?)?\s*$/;

/** One value for all metrics, or a map by metric. */
const each = (check: Check): Check => ({
  expected: `${check.expected}, or one for each metric by name`,
  schema: { anyOf: [check.schema ?? {}, { type: "object", additionalProperties: check.schema ?? {} }] },
  test: (value) => (is.object.test(value) ? Object.values(value as object).every(check.test) : check.test(value)),
});

const share: Check = {
  expected: `a share such as "1%"`,
  schema: { type: "string", pattern: "%" },
  test: (value) => typeof value === "string" && Number.isFinite(Number(PERCENT.exec(value)?.[1])),
};

export const EARLY_STOPPING_CHECKS = {
  name: is.name,
  monitor: is.or(is.name, {
    expected: "an array of one or more metric names",
    schema: { ...is.arrayOf(is.name).schema, minItems: 1 },
    test: (value) => Array.isArray(value) && value.length > 0 && value.every(is.name.test),
  }),
  combine: is.or(is.oneOf("any", "all"), is.function),
  mode: each(is.oneOf("min", "max", "auto")),
  patience: {
    expected: `a whole number ≥ 1 of checks, or a quantity such as "3 epochs" or "500 steps"`,
    schema: is.or(is.wholeFrom(1), is.name).schema!,
    test: (value: unknown) => is.or(is.number, is.string).test(value) && Number(PATIENCE.exec(String(value))?.[1]) >= 1,
  },
  minDelta: each(is.or(is.nonNegative, share)),
  baseline: each(is.finite),
  stoppingThreshold: each(is.finite),
  divergenceThreshold: each(is.finite),
  checkFinite: is.boolean,
  startFrom: is.or(is.nonNegative, is.name),
  checkOn: is.oneOf("eval", "epoch", "step"),
  every: is.cadence,
  strict: is.boolean,
  verbose: is.boolean,
  restoreBest: is.or(is.boolean, is.oneOf("memory", "checkpoint")),
};

const PER_MONITOR = ["mode", "minDelta", "baseline", "stoppingThreshold", "divergenceThreshold"] as const;

const monitorsOf = ({ monitor = "val/loss" }: EarlyStoppingOptions): readonly string[] =>
  typeof monitor === "string" ? [monitor] : [...new Set(monitor)];

/** Checks what involves more than one option: cadences, and maps that name metrics that are not monitored. */
export function checkStopOptions(options: EarlyStoppingOptions): void {
  const owner = options.name ?? "earlyStopping";
  if (options.every !== undefined) checkCadence(`${owner}: every`, options.every);
  if (options.startFrom !== undefined) checkCadence(`${owner}: startFrom`, { from: options.startFrom });
  const monitors = monitorsOf(options);
  for (const key of PER_MONITOR) {
    const value = options[key];
    if (typeof value !== "object") continue;
    const unknown = Object.keys(value).find((name) => !monitors.includes(name));
    if (unknown === undefined) continue;
    throw new OptionError(
      `${owner}: \`${key}\` names \`${unknown}\`, which is not monitored.${didYouMean(unknown, monitors)} Monitored: ${monitors.join(", ")}.`,
    );
  }
}

/** The value for one metric; undefined where a map leaves it out. */
function forMonitor<T extends number | string>(value: PerMonitor<T> | undefined, monitor: string): T | undefined {
  return typeof value === "object" ? value[monitor] : value;
}

function parsePatience(patience: number | string): Patience {
  const [, value, unit = "check"] = PATIENCE.exec(String(patience))!;
  return { value: Number(value), unit: unit as Patience["unit"] };
}

export function makeTrackers(options: EarlyStoppingOptions): Tracker[] {
  const { patience = 3, checkFinite = true } = options;
  return monitorsOf(options).map((monitor) => {
    const mode = forMonitor(options.mode, monitor) ?? "auto";
    const minDelta = forMonitor(options.minDelta, monitor) ?? 0;
    return new Tracker(monitor, {
      mode: mode === "auto" ? directionOf(monitor) : mode,
      minDelta: typeof minDelta === "string" ? Number(PERCENT.exec(minDelta)![1]) / 100 : minDelta,
      relative: typeof minDelta === "string",
      patience: parsePatience(patience),
      baseline: forMonitor(options.baseline, monitor),
      stoppingThreshold: forMonitor(options.stoppingThreshold, monitor),
      divergenceThreshold: forMonitor(options.divergenceThreshold, monitor),
      checkFinite,
    });
  });
}
