// Finds an experiment of which every trial would fail, before the first trial: a loader that does not fit the model,
// layers that do not fit each other, a monitor that nothing provides, data that cannot be read or split.
import type { Hook } from "../../core/hook.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { configError, type ConfigDocument } from "../../experiment/config/document.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { Split } from "../../experiment/types.ts";
import type { Space } from "../space/space.ts";
import { trialDirectory } from "../store.ts";
import { planStudy, type StudyOptions } from "../study-options.ts";
import type { Params } from "../types.ts";
import { checkSplit } from "./check-objectives.ts";
import { configAt, pointsOf } from "./points.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { trainingHooks } from "./training-hooks.ts";

/** Some models do not fit at some points of a space. A sweep is refused only when this many points fail. */
const POINTS = 8;

/**
 * Reads the data and traces one batch of every loader, at the first point of the space where that works. Trials of a
 * queue run on other machines, which may have data and devices that this one lacks: these are not checked.
 * @throws ConfigError when no point works
 */
export async function preflightSweep(
  sweep: SweepDocument,
  options: StudyOptions<Space> & { readonly dir: string },
): Promise<void> {
  if (!sweep.experiment || options.runner?.name === "bullmq") return;
  const plan = planStudy(options);
  const hooks = await trainingHooks(plan, sweep.doc.directoryOf(["trial"]));
  const metrics = hooks.length > 0 ? [] : plan.objectives.map(({ metric }) => metric);
  const points = pointsOf(plan.space, POINTS);
  let first: { readonly params: Params; readonly error: unknown } | undefined;
  for (const params of points) {
    try {
      return await preflightAt(await configAt(sweep, plan.space, params), options.dir, hooks, metrics);
    } catch (error) {
      first ??= { params, error };
    }
  }
  const { params, error } = first!;
  const reason = error instanceof Error ? error.message : String(error);
  const where =
    points.length === 1 ? "the only point of its space" : `all ${points.length} points of its space that were tried`;
  throw configError(
    sweep.doc,
    ["experiment"],
    `No trial was started: the experiment fails at ${where}. With ${JSON.stringify(params)}: ${reason}`,
    error,
  );
}

async function preflightAt(
  config: ConfigDocument,
  dir: string,
  hooks: readonly Hook[],
  metrics: readonly string[],
): Promise<void> {
  const { split, ...options } = await buildExperiment(config);
  const checked: Split = async (data, seed) => {
    const parts = await split!(data, seed);
    checkSplit(metrics, config.value, parts);
    return parts;
  };
  await new Experiment({
    ...options,
    ...(split && { split: checked }),
    runDir: trialDirectory(dir, 0),
    hooks: [...(options.hooks ?? []), ...hooks],
  }).preflight();
}
