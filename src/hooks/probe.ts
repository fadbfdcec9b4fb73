// probe: logs statistics of activations inside the model: norms, dead units, non-finite values.
import type { Cadence } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import type { NameFilter } from "../core/names.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import type { ActivationStats } from "../core/inspection.ts";
import { sharedKey, type SharedKey } from "../core/shared.ts";

const STATS = ["norm", "mean", "std", "min", "max", "nonFinite", "dead"] as const;
type Stat = (typeof STATS)[number];

/** Options of `probe`. */
export interface ProbeOptions {
  readonly name?: string;
  /** Which points: a name or part of one, a glob, a list of these, or a function. Default all. */
  readonly match?: NameFilter;
  /**
   * What is logged as `act/<stat>/<point>`: norm, mean, std, min, max, nonFinite (a count), dead (the share of units that
   * are 0 for the whole batch, for relu). Default norm, mean and std.
   */
  readonly stats?: readonly Stat[];
  /** `act/p<percentile>/<point>`: each from 0 to 100. Default none. */
  readonly percentiles?: readonly number[];
  /** Histograms with this many bins (`true`: 30), for hooks that read `probedStats`. Default false. */
  readonly histogram?: boolean | number;
  /** Steps between measurements, or another cadence. Default 100. Steps in between run the program without probes. */
  readonly every?: Cadence;
  /** Log the statistics as metrics; hooks find them in `probedStats` in any case. Default true. */
  readonly log?: boolean;
}

/** Statistics of one step, by point. */
export interface ProbedStats {
  readonly step: number;
  readonly stats: Readonly<Record<string, ActivationStats>>;
}

/** Where other hooks find all statistics of probe, histograms included. */
export const probedStats: SharedKey<ProbedStats> = sharedKey("probedStats");

const DEFAULT_BINS = 30;

/**
 * @example
 * probe({ match: "blocks.*.mlp", stats: ["std", "dead"], percentiles: [1, 99], every: 50 })
 */
export const probe = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "probe",
    takes: () => ({
      options: {
        name: is.name,
        match: is.or(is.name, is.arrayOf(is.name), is.function),
        stats: is.arrayOf(is.oneOf(...STATS)),
        percentiles: is.arrayOf(is.between(0, 100)),
        histogram: is.or(is.boolean, is.wholeFrom(1)),
        every: is.cadence,
        log: is.boolean,
      },
    }),
  },
  makeProbe,
);

function makeProbe(options: ProbeOptions = {}): Hook {
  const { name = "probe", match = "*", stats = ["norm", "mean", "std"], percentiles = [], every = 100 } = options;
  const bins = options.histogram === true ? DEFAULT_BINS : options.histogram || 0;

  const metricsOf = (point: string, seen: ActivationStats): [string, number][] => [
    ...stats.map((stat): [string, number] => [`act/${stat}/${point}`, seen[stat]]),
    ...percentiles.map((p, i): [string, number] => [`act/p${p}/${point}`, seen.percentiles![i]!]),
  ];

  return {
    name,
    stage: "monitor",
    every,
    logs: ["act/*"],
    probes: { match, percentiles, ...(bins > 0 && { histogram: bins }) },
    onStepEnd(ctx) {
      const { activations, step } = ctx;
      // A step skipped before its forward pass has no activations.
      if (activations.names.length === 0) return;
      const all = activations.names.map((point) => [point, activations.stats(point)] as const);
      ctx.shared.set(probedStats, { step, stats: Object.fromEntries(all) });
      if (options.log ?? true) ctx.log(Object.fromEntries(all.flatMap(([point, seen]) => metricsOf(point, seen))));
    },
  };
}
