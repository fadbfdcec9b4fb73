// gradientMonitor: logs norms, percentiles and histograms of gradients before clipping, and detects vanishing or exploding ones.
import { checkCadence, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import type { GradStats } from "../core/inspection.ts";
import type { Hook } from "../core/hook.ts";
import { selectNames, type NameFilter } from "../core/names.ts";
import { histogram } from "../core/media.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { sharedKey, type SharedKey } from "../core/shared.ts";
import { warnUser } from "../platform/print.ts";

/** Options of `gradientMonitor`. */
export interface GradientMonitorOptions {
  readonly name?: string;
  /** Steps between measurements, or another cadence. Default 100. Steps in between cost nothing. */
  readonly every?: Cadence;
  /** `grad/norm` over all parameters and `grad/norm/<parameter>` of each. Default true. */
  readonly norm?: boolean;
  /** Histograms with this many bins (`true`: 30), for hooks that read `gradHistograms`. Default false. */
  readonly histogram?: boolean | number;
  /** `grad/p<percentile>/<parameter>`: each from 0 to 100. They need sorting, so measure large models less often. Default none. */
  readonly percentiles?: readonly number[];
  /** Which parameters: part of a name, a glob, a list of these, or a function. Default all. */
  readonly filter?: NameFilter;
  /** A gradient norm below this counts as vanishing. */
  readonly vanishing?: number;
  /** A gradient norm above this, or not finite, counts as exploding. */
  readonly exploding?: number;
  /** On detection: log a count, log and warn (default), or stop the run. */
  readonly action?: "log" | "warn" | "stop";
}

/** Histograms of one step's gradients, by parameter. */
export interface GradHistograms {
  readonly step: number;
  readonly histograms: Readonly<Record<string, NonNullable<GradStats["histogram"]>>>;
}

/** Where other hooks find the histograms of gradientMonitor. */
export const gradHistograms: SharedKey<GradHistograms> = sharedKey("gradHistograms");

const DEFAULT_BINS = 30;

type Stats = Readonly<Record<string, GradStats>>;
type Context = ContextOf<"beforeOptimizerStep">;

/**
 * @example
 * gradientMonitor({ every: 50, percentiles: [5, 50, 95], filter: "*.weight", exploding: 1e3, action: "stop" })
 */
export const gradientMonitor = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "gradientMonitor",
    takes: () => ({
      options: {
        name: is.name,
        every: is.cadence,
        norm: is.boolean,
        histogram: is.or(is.boolean, is.wholeFrom(1)),
        percentiles: is.arrayOf(is.between(0, 100)),
        filter: is.or(is.name, is.arrayOf(is.name), is.function),
        vanishing: is.positive,
        exploding: is.positive,
        action: is.oneOf("log", "warn", "stop"),
      },
    }),
  },
  makeGradientMonitor,
);

function makeGradientMonitor(options: GradientMonitorOptions = {}): Hook {
  const { name = "gradientMonitor", every = 100, norm = true, percentiles = [], filter, action = "warn" } = options;
  checkCadence(`${name}: every`, every);
  const { vanishing = 0, exploding = Infinity } = options;
  const bins = options.histogram === true ? DEFAULT_BINS : options.histogram || 0;
  const detects = options.vanishing !== undefined || options.exploding !== undefined;
  /** Optimizers follow one another: the norm over all parameters is complete with the last. */
  let total = { step: -1, squares: 0 };
  const warned = new Set<string>();

  function logStats(ctx: Context, stats: Stats, squares: number): void {
    const { step } = ctx;
    const entries = Object.entries(stats);
    total = { step, squares: squares + (total.step === step ? total.squares : 0) };
    const norms = norm ? entries.map(([param, s]) => [`grad/norm/${param}`, s.norm] as const) : [];
    const ranks = entries.flatMap(([param, s]) =>
      percentiles.map((p, i) => [`grad/p${p}/${param}`, s.percentiles![i]!] as const),
    );
    ctx.log({ ...(norm && { "grad/norm": Math.sqrt(total.squares) }), ...Object.fromEntries([...norms, ...ranks]) });
    if (bins === 0) return;
    ctx.log(Object.fromEntries(entries.map(([param, s]) => [`grad/${param}`, histogram(s.histogram!)])));
    const before = ctx.shared.get(gradHistograms);
    const own = Object.fromEntries(entries.map(([param, s]) => [param, s.histogram!]));
    const histograms = before?.step === step ? { ...before.histograms, ...own } : own;
    ctx.shared.set(gradHistograms, { step, histograms });
  }

  function detect(ctx: Context, stats: Stats): void {
    const entries = Object.entries(stats);
    const small = entries.filter(([, s]) => s.norm < vanishing);
    const large = entries.filter(([, s]) => !(s.norm <= exploding));
    ctx.log({
      ...(options.vanishing !== undefined && { "grad/vanishing": small.length }),
      ...(options.exploding !== undefined && { "grad/exploding": large.length }),
    });
    if (options.exploding !== undefined) act(ctx, "exploding", large, `above ${exploding}`);
    if (options.vanishing !== undefined) act(ctx, "vanishing", small, `below ${vanishing}`);
  }

  function act(ctx: Context, what: string, found: readonly [string, GradStats][], side: string): void {
    if (action === "log" || found.length === 0) return;
    const shown = found.slice(0, 3).map(([param, s]) => `${param} (${s.norm.toPrecision(3)})`);
    const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : "";
    const message = `${name}: ${what} gradients, norm ${side}: ${shown.join(", ")}${more}`;
    if (action === "stop") return ctx.stop(message);
    // Warn once per parameter.
    const news = found.filter(([param]) => !warned.has(`${what} ${param}`));
    for (const [param] of news) warned.add(`${what} ${param}`);
    if (news.length > 0) warnUser(ctx.config, `${message}, at step ${ctx.step}`);
  }

  return {
    name,
    stage: "monitor",
    every,
    logs: ["grad/*"],
    onTrainBegin(ctx) {
      warned.clear();
      const { names } = ctx.params;
      if (filter !== undefined && selectNames(filter, names).length === 0)
        throw new OptionError(`${name}: \`filter\` matches no parameter. Parameters: ${names.join(", ")}.`);
    },
    async onBeforeOptimizerStep(ctx) {
      const { grads } = ctx;
      // The filter may match none of this optimizer's parameters, or only frozen ones.
      const names = filter === undefined ? grads.names : selectNames(filter, grads.names);
      const stats =
        names.length === 0
          ? {}
          : await grads.stats({ percentiles, ...(bins > 0 && { histogram: bins }), filter: names });
      const global = filter === undefined || !norm ? undefined : await grads.norm();
      const squares = global === undefined ? sumOfSquares(stats) : global ** 2;
      logStats(ctx, stats, squares);
      if (detects) detect(ctx, stats);
    },
  };
}

const sumOfSquares = (stats: Stats): number => Object.values(stats).reduce((sum, { norm }) => sum + norm ** 2, 0);
