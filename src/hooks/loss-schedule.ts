// lossSchedule: another loss from some point of the run on.
import { checkCadence, type Quantity } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import type { Loss } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { Applied } from "./lib/applied.ts";

export interface LossPhase {
  /** From here on: `"5 epochs"`, `"1000 steps"`, `"50%"`. */
  readonly from: Quantity;
  readonly loss: Loss;
}

export interface LossScheduleOptions {
  /** Default `lossSchedule`. */
  readonly name?: string;
  /** In the order of the run; before the first, the trainer's own loss. */
  readonly schedule: readonly LossPhase[];
}

const CHECKS = { name: is.name, schedule: is.arrayOf(is.object) };
const PHASE = { from: is.or(is.nonNegative, is.name), loss: is.function };

/**
 * Each loss is compiled into the step once, when its time comes. Evaluations use the loss in force.
 * @example
 * lossSchedule({ schedule: [{ from: "5 epochs", loss: huber() }] })
 */
export function lossSchedule(options: LossScheduleOptions): Hook {
  checkOptions("lossSchedule", options, CHECKS, ["schedule"]);
  const { name = "lossSchedule", schedule } = options;
  const phases = schedule.map((phase) => {
    checkOptions("lossSchedule: schedule", phase, PHASE, ["from", "loss"]);
    checkCadence("lossSchedule", { from: phase.from });
    return { ...phase, when: { from: phase.from } };
  });
  const applied = new Applied(-1);

  return {
    name,
    onTrainBegin: () => applied.renew(),
    onStepBegin(ctx) {
      const at = phases.findLastIndex(({ when }) => ctx.due(when));
      if (at >= 0 && applied.take(at)) ctx.setLoss(phases[at]!.loss, `from ${phases[at]!.from}`);
    },
  };
}
