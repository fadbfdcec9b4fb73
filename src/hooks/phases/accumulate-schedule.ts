// accumulateSchedule: more (or fewer) micro-batches in a step from some point of the run on.
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { phasesHook, type Phase } from "./phases.ts";

/** A part of the run, and how many micro-batches make a step in it. */
export interface AccumulatePhase extends Phase {
  /** Micro-batches in a step. */
  readonly accumulate: number;
}

/** Options of `accumulateSchedule`. */
export interface AccumulateScheduleOptions {
  /** Default `accumulateSchedule`. */
  readonly name?: string;
  /** In the order of the run; before the first, the trainer's own `accumulate`. */
  readonly schedule: readonly AccumulatePhase[];
}

/**
 * A run's length in steps is reckoned with the trainer's own `accumulate`: with a learning-rate schedule or shares such
 * as `"10%"`, say the length as `steps`.
 * @example
 * accumulateSchedule({ schedule: [{ from: "5 epochs", accumulate: 4 }, { from: "10 epochs", accumulate: 8 }] })
 */
export const accumulateSchedule = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "accumulateSchedule",
    takes: () => ({ options: { name: is.name, schedule: is.arrayOf(is.object) }, required: ["schedule"] }),
  },
  (options: AccumulateScheduleOptions): Hook =>
    phasesHook("accumulateSchedule", options, { accumulate: is.wholeFrom(1) }, (ctx, { accumulate }, why) =>
      ctx.setAccumulate(accumulate, why),
    ),
);
