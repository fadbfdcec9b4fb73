// ema: an exponential moving average of the parameters, kept on the engine and swapped in for evaluations.
import { checkCadence, type Cadence, type CadenceOptions, type Quantity } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { averageAt, ParamAverage } from "./average.ts";

/** Options of `ema`. */
export interface EmaOptions {
  /** Default `ema`. */
  readonly name?: string;
  /** The weight of the old average at each update. Default 0.999. */
  readonly decay?: number;
  /** Start with a smaller decay, (1 + n) / (10 + n) after n updates, so that the initial parameters fade quickly. Default false. */
  readonly warmup?: boolean;
  /** How often the average is updated. Default every step. */
  readonly every?: Cadence;
  /** When averaging starts: `"2 epochs"`, `"10%"`. Default: with the first step. */
  readonly from?: Quantity;
  /**
   * `eval` (default): evaluations use the average; training, `predict` and `stateDict` use the model's own parameters.
   * `end`: when training ends, the average also becomes the model's parameters.
   */
  readonly apply?: "eval" | "end";
}

/**
 * The model trains on its own parameters; evaluations use the average. Other hooks find it through `averagedParams`.
 * Batch norm's running statistics are recomputed for the average before it is used (see `ctx.params.recomputeBuffers`);
 * with a stream as training data they are averaged instead.
 * @example
 * new Trainer({ …, hooks: [ema({ decay: 0.9999, warmup: true })] });
 */
export const ema = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "ema",
    takes: () => ({
      options: {
        name: is.name,
        decay: is.fraction,
        warmup: is.boolean,
        every: is.cadence,
        from: is.or(is.nonNegative, is.name),
        apply: is.oneOf("eval", "end"),
      },
    }),
  },
  makeEma,
);

function makeEma(options: EmaOptions = {}): Hook {
  const { name = "ema", decay = 0.999, warmup = false, every = 1, from, apply = "eval" } = options;
  const own: CadenceOptions = typeof every === "object" ? every : { every };
  const cadence: CadenceOptions = from === undefined ? own : { ...own, from };
  checkCadence("ema", cadence);
  const average = new ParamAverage(name);

  return {
    name,
    // Before monitors, so that a best model restored by one of them at the end is not overwritten.
    stage: "user",
    // After a resume, other hooks find the average before its next update.
    onTrainBegin: (ctx) => void average.tensors(ctx),
    ...averageAt(cadence, (ctx) => {
      const { count } = average;
      const kept = warmup ? Math.min(decay, (1 + count) / (10 + count)) : decay;
      return average.add(ctx, 1 - kept);
    }),
    async onEvalBegin(ctx) {
      const model = await average.model(ctx);
      if (model) ctx.swapParams(model, "the moving average");
    },
    ...(apply === "end" && {
      async onTrainEnd(ctx: ContextOf<"trainEnd">) {
        const model = ctx.status === "error" ? undefined : await average.model(ctx);
        if (model) ctx.setParams(model, "the moving average");
      },
    }),
    state: () => average.state(),
    load: (state) => average.load(state),
  };
}
