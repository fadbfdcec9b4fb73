// customStep: your own optimizer step, for the whole run or a part of it.
import { checkCadence, type Quantity } from "../core/cadence.ts";
import type { UpdateFn } from "../core/context.types.ts";
import type { Hook } from "../core/hook.ts";
import { checkOptions, is } from "../core/options.ts";
import { Applied } from "./lib/applied.ts";

/** Options of `customStep`. */
export interface CustomStepOptions {
  /** Default `customStep`. */
  readonly name?: string;
  /** From parameters and clipped gradients to new parameters: a pure jax-js function. */
  readonly update: UpdateFn;
  /** Default from the start. */
  readonly from?: Quantity;
  /** The optimizer steps again after this. Default never. */
  readonly until?: Quantity;
}

const CHECKS = {
  name: is.name,
  update: is.function,
  from: is.or(is.nonNegative, is.name),
  until: is.or(is.nonNegative, is.name),
};

/**
 * The optimizer's own state rests meanwhile. The step stays one program: the update is compiled into it.
 * @example
 * // sign descent
 * customStep({
 *   update: (params, grads, { lr }) =>
 *     Object.fromEntries(Object.keys(params).map((k) => [k, params[k].sub(np.sign(grads[k]).mul(lr.ref))])),
 * })
 */
export function customStep(options: CustomStepOptions): Hook {
  checkOptions("customStep", options, CHECKS, ["update"]);
  const { name = "customStep", update, from, until } = options;
  const when = { ...(from !== undefined && { from }), ...(until !== undefined && { until }) };
  checkCadence("customStep", when);
  const applied = new Applied(false);

  return {
    name,
    onTrainBegin: () => applied.renew(),
    onStepBegin(ctx) {
      const own = ctx.due(when);
      if (applied.take(own)) ctx.setUpdate(own ? update : null, own ? "own step" : "back to the optimizer");
    },
  };
}
