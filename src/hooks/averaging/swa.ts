// swa: stochastic weight averaging, the mean of the parameters over the last part of the run.
import { checkCadence, type Cadence, type CadenceOptions, type Quantity } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { averageAt, ParamAverage } from "./average.ts";

/** Options of `swa`. */
export interface SwaOptions {
  /** Default `swa`. */
  readonly name?: string;
  /** When averaging starts: `"10 epochs"`, `"2000 steps"`. Default `"75%"`. */
  readonly from?: Quantity;
  /** How often the parameters are added to the mean. Default `"1 epoch"`. */
  readonly every?: Cadence;
  /** `end` (default): the mean becomes the model's parameters when training ends, unless it failed. `eval`: only evaluations use it. */
  readonly apply?: "end" | "eval";
}

/**
 * Batch norm's running statistics are recomputed for the mean before it is used (see `ctx.params.recomputeBuffers`); with
 * a stream as training data they are averaged instead.
 * @example
 * new Trainer({ …, hooks: [swa({ from: "75%", every: "1 epoch" })] });
 */
export const swa = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "swa",
    takes: () => ({
      options: {
        name: is.name,
        from: is.or(is.nonNegative, is.name),
        every: is.cadence,
        apply: is.oneOf("end", "eval"),
      },
    }),
  },
  makeSwa,
);

function makeSwa(options: SwaOptions = {}): Hook {
  const { name = "swa", from = "75%", every = "1 epoch", apply = "end" } = options;
  const cadence: CadenceOptions = { ...(typeof every === "object" ? every : { every }), from };
  checkCadence("swa", cadence);
  const average = new ParamAverage(name);

  return {
    name,
    // Before monitors, so that a best model restored by one of them at the end is not overwritten.
    stage: "user",
    // After a resume, other hooks find the mean before its next update.
    onTrainBegin: (ctx) => void average.tensors(ctx),
    ...averageAt(cadence, (ctx) => average.add(ctx, 1 / (average.count + 1))),
    ...(apply === "eval"
      ? {
          async onEvalBegin(ctx: ContextOf<"evalBegin">) {
            const model = await average.model(ctx);
            if (model) ctx.swapParams(model, `the mean of ${average.count}`);
          },
        }
      : {
          async onTrainEnd(ctx: ContextOf<"trainEnd">) {
            const model = ctx.status === "error" ? undefined : await average.model(ctx);
            if (model) ctx.setParams(model, `the mean of ${average.count}`);
          },
        }),
    state: () => average.state(),
    load: (state) => average.load(state),
  };
}
