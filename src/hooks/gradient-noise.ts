// gradientNoise: logs the gradient noise scale, about the batch size above which a larger one no longer pays off.
import { checkCadence, withUnit, type Cadence } from "../core/cadence.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `gradientNoise`. */
export interface GradientNoiseOptions {
  readonly name?: string;
  /** Steps between two measurements, or another cadence. Default 10. */
  readonly every?: Cadence;
  /** The weight of the old averages at each measurement: single measurements are very noisy. Default 0.95. */
  readonly decay?: number;
}

/** Running averages of the two estimates. The ratio of averages is logged: the ratio of a single step would be biased. */
type Averages = { readonly trace: number; readonly signal: number };

/**
 * "An Empirical Model of Large-Batch Training" (McCandlish et al., 2018), appendix A.1: the squared norm of a gradient
 * over B samples is |G|² + tr(Σ)/B on average, so two batch sizes, a micro-batch and the whole step, give both.
 * Logs `grad/noiseScale` = tr(Σ)/|G|², in samples, and the two as `grad/noiseTrace` and `grad/signal`.
 * @example
 * new Trainer({ …, accumulate: 4, hooks: [gradientNoise({ every: 50 })] })
 */
export const gradientNoise = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "gradientNoise",
    takes: () => ({ options: { name: is.name, every: is.cadence, decay: is.fraction } }),
  },
  makeGradientNoise,
);

function makeGradientNoise(options: GradientNoiseOptions = {}): Hook {
  const { name = "gradientNoise", every = 10, decay = 0.95 } = options;
  checkCadence(`${name}: every`, every);
  let averages: Averages | undefined;
  let samplesBefore = 0;
  /** Of this step: samples and squared norm of each micro-batch, and the squared norm of their mean. */
  let micro: { readonly samples: number; readonly square: number }[] = [];
  let whole = 0;

  return {
    name,
    stage: "monitor",
    every: withUnit(every, "steps"),
    logs: ["grad/noiseScale", "grad/noiseTrace", "grad/signal"],
    onTrainBegin(ctx) {
      if (ctx.step === 0) averages = undefined;
      if (((ctx.config.accumulate as number | undefined) ?? 1) > 1) return;
      throw new OptionError(
        `${name}: it compares the gradients of micro-batches with that of their step, so a step needs two or more: set the trainer's \`accumulate\` to 2 or more (and the batch size to a half or less).`,
      );
    },
    onStepBegin() {
      micro = [];
      whole = 0;
    },
    onBeforeFetch(ctx) {
      samplesBefore = ctx.samplesSeen;
    },
    async onAfterBackward(ctx) {
      // In a process group this is the gradient of this rank's rows, until the ranks' gradients are joined.
      const samples = (ctx.samplesSeen - samplesBefore) / ctx.worldSize;
      micro.push({ samples, square: (await ctx.grads.norm()) ** 2 });
    },
    async onBeforeOptimizerStep(ctx) {
      // Each optimizer has the gradients of its own parameters.
      whole += (await ctx.grads.norm()) ** 2;
    },
    onStepEnd(ctx) {
      const estimate = ctx.skipped ? undefined : estimateNoise(micro, whole, ctx.worldSize);
      if (estimate === undefined) return;
      const mix = (old: number, now: number): number => decay * old + (1 - decay) * now;
      averages = averages
        ? { trace: mix(averages.trace, estimate.trace), signal: mix(averages.signal, estimate.signal) }
        : estimate;
      const { trace, signal } = averages;
      // Close to a minimum the estimate of |G|² may be negative; the scale is undefined then.
      const known = signal > 0 && trace > 0;
      ctx.log({ ...(known && { "grad/noiseScale": trace / signal }), "grad/noiseTrace": trace, "grad/signal": signal });
    },
    state: () => ({ json: averages ?? null }),
    load({ json }) {
      averages = (json as Averages | null) ?? undefined;
    },
  };
}

/** Both estimates from one step; undefined when its micro-batches differ in size, as in the last step of an epoch. */
export function estimateNoise(
  micro: readonly { readonly samples: number; readonly square: number }[],
  whole: number,
  processes = 1,
): Averages | undefined {
  const small = micro[0]?.samples ?? 0;
  const alike = micro.length > 1 && micro.every(({ samples }) => samples === small);
  const mean = micro.reduce((sum, { square }) => sum + square, 0) / micro.length;
  if (!alike || small === 0 || !Number.isFinite(mean + whole)) return undefined;
  const big = small * micro.length * processes;
  return { signal: (big * whole - small * mean) / (big - small), trace: (mean - whole) / (1 / small - 1 / big) };
}
