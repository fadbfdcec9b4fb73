// throughput: logs steps, samples and tokens per second, and the share of time spent waiting for data.
import { OptionError } from "../core/errors.ts";
import type { ContextOf } from "../core/context.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `throughput`. */
export interface ThroughputOptions {
  readonly name?: string;
  /** Steps per report. Default 50. */
  readonly window?: number;
  /** Floating-point operations per sample, forward and backward. Adds `perf/flops`, operations per second. */
  readonly flopsPerSample?: number;
  /** Peak operations per second of the hardware. Adds `perf/mfu`, the share in use (model FLOP utilization). */
  readonly peakFlops?: number;
}

type Counted = Pick<ContextOf<"stepEnd">, "step" | "samplesSeen" | "tokensSeen">;

/** The start of a window. Only differences count, since a resumed run has counters of the past. */
interface Mark extends Counted {
  readonly at: number;
}

/**
 * Logs `perf/stepsPerSec`, `perf/samplesPerSec`, `perf/tokensPerSec` (when tokens are counted) and `perf/dataWait`, the
 * share of time spent waiting for batches. Evaluations, pauses and the first step of a run, which compiles, are excluded.
 * @example
 * throughput({ window: 100, flopsPerSample: 6 * paramCount * tokensPerSample, peakFlops: 312e12 })
 */
export const throughput = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "throughput",
    takes: () => ({
      options: {
        name: is.name,
        window: is.wholeFrom(1),
        flopsPerSample: is.positive,
        peakFlops: is.positive,
      },
    }),
  },
  makeThroughput,
);

function makeThroughput(options: ThroughputOptions = {}): Hook {
  const { name = "throughput", window = 50, flopsPerSample, peakFlops } = options;
  if (peakFlops !== undefined && flopsPerSample === undefined)
    throw new OptionError(`${name}: \`peakFlops\` needs \`flopsPerSample\`.`);
  let mark: Mark | undefined;
  let reported = false;
  let waited = 0;
  let askedAt = 0;
  /** Milliseconds of evaluations and pauses. */
  let excluded = 0;
  let evalAt = 0;
  let pausedAt: number | undefined;

  function begin({ step, samplesSeen, tokensSeen }: Counted): void {
    mark = { at: performance.now(), step, samplesSeen, tokensSeen };
    waited = 0;
    excluded = 0;
  }

  function report(ctx: Counted & { log(values: Record<string, number>): void }, from: Mark): void {
    const seconds = (performance.now() - from.at - excluded) / 1000;
    const samples = (ctx.samplesSeen - from.samplesSeen) / seconds;
    const tokens = (ctx.tokensSeen - from.tokensSeen) / seconds;
    const flops = flopsPerSample === undefined ? undefined : flopsPerSample * samples;
    ctx.log({
      "perf/stepsPerSec": (ctx.step - from.step) / seconds,
      "perf/samplesPerSec": samples,
      ...(tokens > 0 && { "perf/tokensPerSec": tokens }),
      "perf/dataWait": Math.min(1, waited / 1000 / seconds),
      ...(flops !== undefined && { "perf/flops": flops }),
      ...(flops !== undefined && peakFlops !== undefined && { "perf/mfu": flops / peakFlops }),
    });
    reported = true;
  }

  return {
    name,
    stage: "monitor",
    logs: ["perf/*"],
    onTrainBegin() {
      mark = undefined;
      pausedAt = undefined;
      reported = false;
    },
    onBeforeFetch() {
      askedAt = performance.now();
    },
    onBatchBegin() {
      waited += performance.now() - askedAt;
    },
    onEvalBegin() {
      evalAt = performance.now();
    },
    onEvalEnd() {
      // An evaluation during a pause is part of it.
      if (pausedAt === undefined) excluded += performance.now() - evalAt;
    },
    onPause() {
      pausedAt = performance.now();
    },
    onContinue() {
      excluded += performance.now() - pausedAt!;
      pausedAt = undefined;
    },
    onStepEnd(ctx) {
      if (mark === undefined) return begin(ctx);
      if (ctx.step - mark.step < window) return;
      report(ctx, mark);
      begin(ctx);
    },
    onTrainEnd(ctx) {
      // Report a run that is shorter than a window.
      if (!reported && mark !== undefined && ctx.step > mark.step) report(ctx, mark);
    },
  };
}
