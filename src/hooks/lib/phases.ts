// Settings that change at points of the run: what lossSchedule and accumulateSchedule share.
import { checkCadence, type Quantity } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.types.ts";
import type { Hook } from "../../core/hook.ts";
import { checkOptions, is, type Check } from "../../core/options.ts";
import { Applied } from "./applied.ts";

export interface Phase {
  /** From here on: `"5 epochs"`, `"1000 steps"`, `"50%"`. */
  readonly from: Quantity;
}

/** A hook that puts each phase's setting in place when its time comes, exact to the step. */
export function phasesHook<P extends Phase>(
  owner: string,
  options: { readonly name?: string; readonly schedule: readonly P[] },
  setting: Readonly<Record<string, Check>>,
  apply: (ctx: ContextOf<"stepBegin">, phase: P, why: string) => void,
): Hook {
  checkOptions(owner, options, { name: is.name, schedule: is.arrayOf(is.object) }, ["schedule"]);
  const { name = owner, schedule } = options;
  const checks = { from: is.or(is.nonNegative, is.name), ...setting };
  const phases = schedule.map((phase) => {
    checkOptions(`${owner}: schedule`, phase, checks, Object.keys(checks));
    checkCadence(owner, { from: phase.from });
    return { phase, when: { from: phase.from } };
  });
  const applied = new Applied(-1);
  return {
    name,
    onTrainBegin: () => applied.renew(),
    onStepBegin(ctx) {
      const at = phases.findLastIndex(({ when }) => ctx.due(when));
      if (at >= 0 && applied.take(at)) apply(ctx, phases[at]!.phase, `from ${phases[at]!.phase.from}`);
    },
  };
}
