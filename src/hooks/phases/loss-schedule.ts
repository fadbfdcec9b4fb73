// lossSchedule: another loss from some point of the run on.
import type { Hook } from "../../core/hook.ts";
import type { Loss } from "../../core/model.ts";
import { component } from "../../core/component.ts";
import { each, is, one } from "../../core/options.ts";
import { phasesHook, type Phase } from "./phases.ts";

/** A part of the run, and the loss that it trains with. */
export interface LossPhase extends Phase {
  readonly loss: Loss;
}

/** Options of `lossSchedule`. */
export interface LossScheduleOptions {
  /** Default `lossSchedule`. */
  readonly name?: string;
  /** In the order of the run; before the first, the trainer's own loss. */
  readonly schedule: readonly LossPhase[];
}

/**
 * Each loss is compiled into the step once, when its time comes. Evaluations use the loss in force.
 * @example
 * lossSchedule({ schedule: [{ from: "5 epochs", loss: huber() }] })
 */
export const lossSchedule = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "lossSchedule",
    takes: () => ({
      options: { name: is.name, schedule: { ...is.arrayOf(is.object), holds: each({ loss: one("loss") }) } },
      required: ["schedule"],
    }),
  },
  (options: LossScheduleOptions): Hook =>
    phasesHook("lossSchedule", options, { loss: is.function }, (ctx, { loss }, why) => ctx.setLoss(loss, why)),
);
