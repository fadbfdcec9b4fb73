// lossSpike: a loss far above the running median; the batch is left out, the learning rate goes down, or the run goes back.
import type { ContextOf } from "../core/context.types.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `lossSpike`. */
export interface LossSpikeOptions {
  /** Default `lossSpike`. */
  readonly name?: string;
  /** Losses that the median is of. Default 50. */
  readonly window?: number;
  /** Losses that must be there before one can be a spike. Default 10. */
  readonly minHistory?: number;
  /** A spike is above the median by this factor. Default 2, unless `mad` is given; with both, it must be above both. */
  readonly factor?: number;
  /** A spike is so many (normalised) median absolute deviations above the median. */
  readonly mad?: number;
  /**
   * `skip` (default) leaves the batch out; `lowerLr` multiplies the learning rate by `lrFactor`; `rollback` goes back to
   * the newest checkpoint, without the step that has learned the spike.
   */
  readonly action?: "skip" | "lowerLr" | "rollback";
  /** Default 0.5. */
  readonly lrFactor?: number;
  /** Steps after a spike in which none is looked for. Default 0 for `skip`, else 10. */
  readonly cooldown?: number;
}

/** Makes the median absolute deviation of normal noise its standard deviation. */
const NORMAL = 1.4826;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/**
 * Spikes join the window like all losses: a few do not move its median, and a lasting rise becomes the new normal.
 * `skip` must see the loss before the update, so each step computes its forward pass twice; the others cost nothing.
 * A loss of NaN is not its business: see nanGuard.
 * @example
 * lossSpike({ factor: 3, action: "lowerLr", cooldown: 100 })
 */
export const lossSpike = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "lossSpike",
    takes: () => ({
      options: {
        name: is.name,
        window: is.wholeFrom(3),
        minHistory: is.wholeFrom(3),
        factor: {
          expected: "a number > 1",
          schema: { type: "number", exclusiveMinimum: 1 },
          test: (v: unknown) => typeof v === "number" && v > 1,
        },
        mad: is.positive,
        action: is.oneOf("skip", "lowerLr", "rollback"),
        lrFactor: {
          expected: "a number between 0 and 1",
          schema: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
          test: (v: unknown) => typeof v === "number" && v > 0 && v < 1,
        },
        cooldown: is.wholeFrom(0),
      },
    }),
  },
  makeLossSpike,
);

function makeLossSpike(options: LossSpikeOptions = {}): Hook {
  const { name = "lossSpike", window = 50, minHistory = 10, mad, action = "skip", lrFactor = 0.5 } = options;
  const factor = options.factor ?? (mad === undefined ? 2 : undefined);
  const cooldown = options.cooldown ?? (action === "skip" ? 0 : 10);
  if (minHistory > window)
    throw new OptionError(`lossSpike: \`minHistory\` (${minHistory}) is more than \`window\` (${window}) holds.`);
  let losses: number[] = [];
  /** The last step of the cooldown. */
  let quietUntil = 0;

  /** Why this loss is a spike; undefined when it is none. */
  function judge(loss: number, step: number): string | undefined {
    if (losses.length < minHistory || step <= quietUntil) return undefined;
    const middle = median(losses);
    const byFactor = factor === undefined ? -Infinity : middle + (factor - 1) * Math.abs(middle);
    const deviation = mad === undefined ? 0 : median(losses.map((each) => Math.abs(each - middle)));
    const byMad = mad === undefined ? -Infinity : middle + mad * NORMAL * deviation;
    const limit = Math.max(byFactor, byMad);
    if (!(loss > limit)) return undefined;
    const short = (value: number): string => value.toPrecision(4);
    return `loss ${short(loss)} is above ${short(limit)}; the median of ${losses.length} is ${short(middle)}`;
  }

  function observe(ctx: { readonly loss: number; readonly step: number }, act: (why: string) => void): void {
    const { loss, step } = ctx;
    if (Number.isNaN(loss)) return;
    const why = judge(loss, step);
    losses.push(loss);
    if (losses.length > window) losses.shift();
    if (why === undefined) return;
    quietUntil = step + cooldown;
    act(why);
  }

  return {
    name,
    stage: "monitor",
    onTrainBegin(ctx) {
      if (ctx.step > 0) return;
      losses = [];
      quietUntil = 0;
    },
    ...(action === "skip"
      ? { onAfterForward: (ctx: ContextOf<"afterForward">) => observe(ctx, (why) => ctx.skip("batch", why)) }
      : {
          onStepEnd(ctx: ContextOf<"stepEnd">) {
            if (ctx.skipped) return;
            observe(ctx, (why) => {
              if (action === "rollback") ctx.rollback(undefined, why);
              else ctx.setLr((lr) => lr * lrFactor, why);
            });
          },
        }),
    // JSON has no Infinity.
    state: () => ({ json: { losses: losses.map((loss) => (Number.isFinite(loss) ? loss : null)), quietUntil } }),
    load({ json }) {
      const saved = json as { readonly losses: readonly (number | null)[]; readonly quietUntil: number };
      losses = saved.losses.map((loss) => loss ?? Infinity);
      ({ quietUntil } = saved);
    },
  };
}
