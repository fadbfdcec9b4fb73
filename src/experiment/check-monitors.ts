// Whoever watches the validation of a training that has none: found out before anything is trained.
import { OptionError } from "../core/errors.ts";
import { isOfEvaluation } from "../core/monitor.ts";
import type { Datasets } from "../core/pipeline.types.ts";
import type { PlannedModel } from "./plan.ts";

/** With folds, a mistake here would else come to light when all of them have been trained. */
export function checkMonitors<D>(
  { plan, hooks }: Pick<PlannedModel<D>, "plan" | "hooks">,
  { val }: Datasets<D>,
  folds: number,
): void {
  // Loaders of the user's own evaluate what they like.
  if (val !== undefined || plan.loaders) return;
  const scheduled = plan.schedule?.monitor;
  const watchers = [
    ...hooks.map(({ name, monitors = [] }) => ({ who: `hook \`${name}\``, monitors })),
    { who: "the schedule", monitors: scheduled === undefined ? [] : [scheduled] },
  ];
  for (const { who, monitors } of watchers) {
    const monitor = monitors.find(isOfEvaluation);
    if (monitor === undefined) continue;
    const where =
      folds > 0
        ? "which the folds have and the main training has not. Give it data to validate on: kFold({ val: 0.1 })"
        : "and there is no data to validate on. Give the split a share for it: holdout({ val: 0.1 })";
    const instead = who === "the schedule" ? "" : "; or, where a hook of yours logs it, say `strict: false`";
    throw new OptionError(`Experiment: ${who} watches \`${monitor}\`, ${where}${instead}.`);
  }
}
