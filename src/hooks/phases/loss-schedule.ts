// lossSchedule: changes the loss function during the run.
import type { Hook } from "../../core/hook.ts";
import type { Loss } from "../../core/model.ts";
import { component } from "../../core/component.ts";
import { each, is, one } from "../../core/options.ts";
import { phasesHook, type Phase } from "./phases.ts";

/** A part of the run and its loss. */
export interface LossPhase extends Phase {
  readonly loss: Loss;
}

/** Options of `lossSchedule`. */
export interface LossScheduleOptions {
  /** Default `lossSchedule`. */
  readonly name?: string;
  /** In the order of the run. Before the first phase, the trainer's loss applies. */
  readonly schedule: readonly LossPhase[];
}

/**
 * Each loss is compiled into the step once, when its phase begins. Evaluations use the loss of the current phase.
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
