// accumulateSchedule: more (or fewer) micro-batches in a step from some point of the run on.
import { checkCadence, type Quantity } from "../core/cadence.ts";
import type { Hook } from "../core/hook.ts";
import { checkOptions, is } from "../core/options.ts";
import { Applied } from "./lib/applied.ts";

export interface AccumulatePhase {
  /** From here on: `"5 epochs"`, `"1000 steps"`, `"50%"`. */
  readonly from: Quantity;
  /** Micro-batches in a step. */
  readonly accumulate: number;
}

export interface AccumulateScheduleOptions {
  /** Default `accumulateSchedule`. */
  readonly name?: string;
  /** In the order of the run; before the first, the trainer's own `accumulate`. */
  readonly schedule: readonly AccumulatePhase[];
}

const CHECKS = { name: is.name, schedule: is.arrayOf(is.object) };
const PHASE = { from: is.or(is.nonNegative, is.name), accumulate: is.wholeFrom(1) };

/**
 * A run's length in steps is reckoned with the trainer's own `accumulate`: with a learning-rate schedule or shares such
 * as `"10%"`, say the length as `steps`.
 * @example
 * accumulateSchedule({ schedule: [{ from: "5 epochs", accumulate: 4 }, { from: "10 epochs", accumulate: 8 }] })
 */
export function accumulateSchedule(options: AccumulateScheduleOptions): Hook {
  checkOptions("accumulateSchedule", options, CHECKS, ["schedule"]);
  const { name = "accumulateSchedule", schedule } = options;
  const phases = schedule.map((phase) => {
    checkOptions("accumulateSchedule: schedule", phase, PHASE, ["from", "accumulate"]);
    checkCadence("accumulateSchedule", { from: phase.from });
    return { ...phase, when: { from: phase.from } };
  });
  const applied = new Applied(-1);

  return {
    name,
    onTrainBegin: () => applied.renew(),
    onStepBegin(ctx) {
      const at = phases.findLastIndex(({ when }) => ctx.due(when));
      if (at >= 0 && applied.take(at)) ctx.setAccumulate(phases[at]!.accumulate, `from ${phases[at]!.from}`);
    },
  };
}
