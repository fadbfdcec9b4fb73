// lossSpike: when the loss is far above its running median, skips the batch, lowers the learning rate, or rolls back.
import type { ContextOf } from "../core/context.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";

/** Options of `lossSpike`. */
export interface LossSpikeOptions {
  /** Default `lossSpike`. */
  readonly name?: string;
  /** How many losses the median covers. Default 50. */
  readonly window?: number;
  /** How many losses are needed before one can be a spike. Default 10. */
  readonly minHistory?: number;
  /** A spike exceeds the median by this factor. Default 2, unless `mad` is given; with both, a spike exceeds both. */
  readonly factor?: number;
  /** A spike exceeds the median by this many normalized median absolute deviations. */
  readonly mad?: number;
  /**
   * `skip` (default) skips the batch; `lowerLr` multiplies the learning rate by `lrFactor`; `rollback` returns to the newest
   * checkpoint, from before the step with the spike.
   */
  readonly action?: "skip" | "lowerLr" | "rollback";
  /** The factor of `lowerLr`. Default 0.5. */
  readonly lrFactor?: number;
  /** Steps after a spike without detection. Default 0 for `skip`, otherwise 10. */
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
 * Spikes enter the window like all losses: a few do not move the median, and a lasting rise becomes the new level.
 * `skip` needs the loss before the update, so each step computes its forward pass twice; the other actions cost nothing.
 * NaN is left to `nanGuard`.
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

  /** Why this loss is a spike; undefined if it is not. */
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
