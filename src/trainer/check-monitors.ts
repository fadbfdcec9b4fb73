// Whoever watches the evaluations of a run that has none: found out before the first step.
import { OptionError } from "../core/errors.ts";
import { isOfEvaluation } from "../core/monitor.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { OptimizerSet } from "./optimizers.ts";

/** For a trainer without `eval`. */
export function checkMonitors(hooks: HookRegistry, { slots }: OptimizerSet): void {
  for (const { schedule } of slots) {
    // It hears of whatever is not of the training after evaluations only, and would never act.
    if (schedule?.monitor === undefined || schedule.monitor.startsWith("train/")) continue;
    throw none(`Schedule \`${schedule.name}\``, schedule.monitor, ", or let the schedule watch `train/loss`");
  }
  for (const { name, enabled } of hooks.list()) {
    const monitor = enabled ? hooks.get(name)?.monitors?.find(isOfEvaluation) : undefined;
    if (monitor === undefined) continue;
    throw none(`Hook \`${name}\``, monitor, "; or, where a hook of yours logs it, say `strict: false`");
  }
}

const none = (who: string, monitor: string, orElse: string): OptionError =>
  new OptionError(
    `${who} watches \`${monitor}\`, which comes after evaluations, but there are none: give the trainer \`eval\`${orElse}.`,
  );
