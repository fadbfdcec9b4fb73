// How fast the run goes: steps, samples and tokens a second, and how much of the time is spent waiting for data.
import { OptionError } from "../core/errors.ts";
import type { ContextOf } from "../core/context.types.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `throughput`. */
export interface ThroughputOptions {
  readonly name?: string;
  /** Steps that each report covers. Default 50. */
  readonly window?: number;
  /** Floating-point operations of one sample, forward and backward: `perf/flops` is what the run does a second. */
  readonly flopsPerSample?: number;
  /** What the hardware can do in a second: `perf/mfu` is the share in use (model FLOP utilisation). */
  readonly peakFlops?: number;
}

type Counted = Pick<ContextOf<"stepEnd">, "step" | "samplesSeen" | "tokensSeen">;

/** Where a window began. Differences only: what a resumed run did before is not speed. */
interface Mark extends Counted {
  readonly at: number;
}

/**
 * Logs `perf/stepsPerSec`, `perf/samplesPerSec`, `perf/tokensPerSec` (when tokens are counted) and `perf/dataWait`, the
 * share of the time between asking for a batch and having it. Evaluations are left out, and so is the first step of a
 * run, which compiles.
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
    throw new OptionError(
      `${name}: \`peakFlops\` is compared with what the run does: give \`flopsPerSample\` as well.`,
    );
  let mark: Mark | undefined;
  let reported = false;
  let waited = 0;
  let askedAt = 0;
  let evaluating = 0;
  let evalAt = 0;

  function begin({ step, samplesSeen, tokensSeen }: Counted): void {
    mark = { at: performance.now(), step, samplesSeen, tokensSeen };
    waited = 0;
    evaluating = 0;
  }

  function report(ctx: Counted & { log(values: Record<string, number>): void }, from: Mark): void {
    const seconds = (performance.now() - from.at - evaluating) / 1000;
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
      evaluating += performance.now() - evalAt;
    },
    onStepEnd(ctx) {
      if (mark === undefined) return begin(ctx);
      if (ctx.step - mark.step < window) return;
      report(ctx, mark);
      begin(ctx);
    },
    onTrainEnd(ctx) {
      // A run shorter than a window has a speed too.
      if (!reported && mark !== undefined && ctx.step > mark.step) report(ctx, mark);
    },
  };
}
