// Rejects monitors on metrics that an experiment will not have, before any model is made.
import { OptionError } from "../core/errors.ts";
import { isOfEvaluation } from "../core/names.ts";
import type { Datasets } from "../core/outer-events.ts";
import { checkMonitors as checkProvided, metricNames, watchersOf, type Watcher } from "../trainer/preflight.ts";
import type { PlannedModel } from "./plan.ts";

/** The trainer makes the same check, but only when its turn comes: with folds, after all of them were trained. */
export function checkMonitors<D>(
  { plan, hooks }: Pick<PlannedModel<D>, "plan" | "hooks">,
  { val }: Datasets<D>,
  folds: number,
): void {
  // The user's own loaders decide what is evaluated.
  if (plan.loaders) return;
  const watchers = watchersOf(hooks, plan.schedule ? [plan.schedule] : []);
  const missing = val === undefined ? watchers.find(({ monitor }) => isOfEvaluation(monitor)) : undefined;
  if (missing) throw noValidation(missing, folds);
  // Metrics that are made from the data are not known yet.
  const { metrics = {} } = plan;
  if (typeof metrics === "function") return;
  checkProvided(watchers, {
    metrics: metricNames(metrics, val === undefined ? [] : ["val"]),
    logs: hooks.flatMap(({ logs = [] }) => logs),
    evaluates: val !== undefined,
  });
}

function noValidation({ kind, name, monitor }: Watcher, folds: number): OptionError {
  const where =
    folds > 0
      ? "which the folds have and the main training has not. Give it data to validate on: kFold({ val: 0.1 })"
      : "and there is no data to validate on. Give the split a share for it: holdout({ val: 0.1 })";
  const instead = kind === "schedule" ? "" : "; or, where a hook of yours logs it, say `strict: false`";
  return new OptionError(
    `Experiment: ${kind === "hook" ? `hook \`${name}\`` : "the schedule"} watches \`${monitor}\`, ${where}${instead}.`,
  );
}
