// Rejects monitors on validation metrics when an experiment has no data to validate on, before any model is made.
import { OptionError } from "../core/errors.ts";
import { isOfEvaluation } from "../core/monitor.ts";
import type { Datasets } from "../core/pipeline.types.ts";
import { watchersOf } from "../trainer/check-monitors.ts";
import type { PlannedModel } from "./plan.ts";

/** With folds the trainer would find this only after all folds were trained, and it knows nothing of splits. */
export function checkMonitors<D>(
  { plan, hooks }: Pick<PlannedModel<D>, "plan" | "hooks">,
  { val }: Datasets<D>,
  folds: number,
): void {
  // The user's own loaders decide what is evaluated.
  if (val !== undefined || plan.loaders) return;
  const watcher = watchersOf(hooks, plan.schedule ? [plan.schedule] : []).find(({ monitor }) =>
    isOfEvaluation(monitor),
  );
  if (watcher === undefined) return;
  const { kind, name, monitor } = watcher;
  const where =
    folds > 0
      ? "which the folds have and the main training has not. Give it data to validate on: kFold({ val: 0.1 })"
      : "and there is no data to validate on. Give the split a share for it: holdout({ val: 0.1 })";
  const instead = kind === "schedule" ? "" : "; or, where a hook of yours logs it, say `strict: false`";
  throw new OptionError(
    `Experiment: ${kind === "hook" ? `hook \`${name}\`` : "the schedule"} watches \`${monitor}\`, ${where}${instead}.`,
  );
}
