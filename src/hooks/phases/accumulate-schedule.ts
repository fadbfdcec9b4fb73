// accumulateSchedule: changes the number of micro-batches per step during the run.
import type { Hook } from "../../core/hook.ts";
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { phasesHook, type Phase } from "./phases.ts";

/** A part of the run and its number of micro-batches per step. */
export interface AccumulatePhase extends Phase {
  /** Micro-batches per step. */
  readonly accumulate: number;
}

/** Options of `accumulateSchedule`. */
export interface AccumulateScheduleOptions {
  /** Default `accumulateSchedule`. */
  readonly name?: string;
  /** In the order of the run. Before the first phase, the trainer's `accumulate` applies. */
  readonly schedule: readonly AccumulatePhase[];
}

/**
 * The length of the run in steps is computed from the trainer's `accumulate`. With a learning-rate schedule or shares such
 * as `"10%"`, give the trainer `steps`.
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
