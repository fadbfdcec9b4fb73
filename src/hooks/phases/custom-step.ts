// customStep: replaces the optimizer's update by your own function, for all or part of the run.
import { checkCadence, type Quantity } from "../../core/cadence.ts";
import type { UpdateFn } from "../../core/optimizer.ts";
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { Applied } from "./phases.ts";

/** Options of `customStep`. */
export interface CustomStepOptions {
  /** Default `customStep`. */
  readonly name?: string;
  /** A pure jax-js function from parameters and clipped gradients to new parameters. */
  readonly update: UpdateFn;
  /** Names of the state it keeps for each parameter between steps; saved in checkpoints. See `UpdateFn`. */
  readonly slots?: readonly string[];
  /** Default: from the first step. */
  readonly from?: Quantity;
  /** When the optimizer takes over again. Default never. */
  readonly until?: Quantity;
}

/** A copy of the user's function with slots, under the same name, since interventions are recorded by name. */
const withSlots = (update: UpdateFn, slots: readonly string[]): UpdateFn =>
  Object.defineProperties((...args: Parameters<UpdateFn>) => update(...args), {
    name: { value: update.name },
    slots: { value: slots },
  });

/**
 * The optimizer's state does not change meanwhile. The update is compiled into the step, which stays one program.
 * @example
 * // sign descent
 * customStep({
 *   update: (params, grads, { lr }) =>
 *     Object.fromEntries(Object.keys(params).map((k) => [k, params[k].sub(np.sign(grads[k]).mul(lr.ref))])),
 * })
 * // momentum
 * customStep({
 *   slots: ["velocity"],
 *   update(params, grads, { lr, state: { velocity } }) {
 *     const next = Object.fromEntries(Object.keys(params).map((k) => [k, velocity[k].mul(0.9).add(grads[k])]));
 *     const moved = Object.keys(params).map((k) => [k, params[k].sub(next[k].ref.mul(lr.ref))]);
 *     return [Object.fromEntries(moved), { velocity: next }];
 *   },
 * })
 */
export const customStep = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "customStep",
    takes: () => ({
      options: {
        name: is.name,
        update: is.function,
        slots: is.arrayOf(is.name),
        from: is.or(is.nonNegative, is.name),
        until: is.or(is.nonNegative, is.name),
      },
      required: ["update"],
    }),
  },
  makeCustomStep,
);

function makeCustomStep(options: CustomStepOptions): Hook {
  const { name = "customStep", slots, from, until } = options;
  const update = slots ? withSlots(options.update, slots) : options.update;
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
