// Checks the experiment of a sweep before the first trial: whether it can be built wherever in the space a trial is, and
// whether it works at all, with its data, its loaders and its layers.
import { CheckedHook } from "../../core/registry/checked-hook.ts";
import type { Hook } from "../../core/hook.ts";
import { Rng } from "../../data/random.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { configError, type ConfigDocument } from "../../experiment/config/config-tree.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { Split } from "../../experiment/types.ts";
import { trialDirectory } from "../../runs/layout.ts";
import { ModuleHooks } from "../module-hooks.ts";
import { drawParams } from "../samplers/random.ts";
import type { Space } from "../space/space.ts";
import { planStudy, type StudyOptions, type StudyPlan } from "../study-options.ts";
import { listensTo } from "../trial.ts";
import type { Objective, Params } from "../types.ts";
import { checkSplit, problemOfObjective } from "./check-objectives.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { configAt } from "./trial-config.ts";

/** The names of the hooks that every trial of a sweep adds. */
export const TRIAL_HOOK = "trial";
export const CHECKS_HOOK = "sweep";

/** The most options of a choice that are checked. */
const MAX_OPTIONS = 20;
/** A model may not fit at some points of a space. A sweep is rejected only when it fails at this many points. */
const PREFLIGHT_POINTS = 8;

/** The hooks of a sweep that listen to the training of each trial. Those named by module are made to find out. */
export async function trainingHooks({ hooks, hookSources }: StudyPlan, directory: string): Promise<readonly Hook[]> {
  const { hooks: made } = await ModuleHooks.make(hookSources, directory);
  return [...hooks, ...made].filter((hook) => listensTo(hook, "training"));
}

/**
 * Builds the experiment at the corners of the space.
 * @param hooks of the sweep that listen to a training
 */
export async function checkExperiment(
  sweep: SweepDocument,
  space: Space,
  objectives: readonly Objective[],
  hooks: readonly Hook[],
): Promise<void> {
  const { doc } = sweep;
  for (const params of corners(space)) {
    const built = await configAt(sweep, space, params);
    if (built.value["models"] !== undefined)
      throw configError(
        built,
        ["models"],
        "A sweep is over one model, not over several. Give each a sweep of its own.",
      );
    const { hooks: own = [] } = await buildExperiment(built);
    const duplicate = duplicateHook(own, hooks);
    if (duplicate) {
      const path = Array.isArray(built.value["hooks"]) ? ["hooks", duplicate.index] : ["hooks"];
      throw configError(built, path, duplicate.message);
    }
    for (const [i, { metric }] of objectives.entries()) {
      const problem = problemOfObjective(metric, built.value, doc.value);
      const place = doc.value["objectives"] === undefined ? ["objective"] : ["objectives", i];
      if (problem !== undefined) throw configError(doc, place, problem);
    }
  }
}

/** A hook of the experiment whose name a hook of the sweep or of every trial has too, by its index. */
function duplicateHook(
  experiment: readonly Hook[],
  sweep: readonly Hook[],
): { readonly index: number; readonly message: string } | undefined {
  const names = new Map<string, string>([
    [TRIAL_HOOK, "by every trial"],
    [CHECKS_HOOK, "by every trial"],
    ...sweep.map((hook) => [new CheckedHook(hook).name, "by a hook of the sweep"] as const),
  ]);
  for (const [index, hook] of experiment.entries()) {
    const { name } = new CheckedHook(hook);
    const user = names.get(name);
    if (user !== undefined)
      return { index, message: `The name \`${name}\` of this hook is used ${user} too. Give it another \`name\`.` };
  }
  return undefined;
}

/** Points that together have both ends of every number, and every option of every choice. */
function* corners(space: Space): Iterable<Params> {
  const options = space.parameters.map((parameter) => (parameter.kind === "choice" ? parameter.labels.length : 2));
  const count = Math.min(MAX_OPTIONS, Math.max(...options));
  for (let i = 0; i < count; i++) {
    yield space.build((parameter) => {
      if (parameter.kind === "choice") return Math.min(i, parameter.labels.length - 1);
      return i % 2 === 0 ? parameter.domain.low : parameter.domain.high;
    });
  }
}

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
  const points = preflightPoints(plan.space);
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

/** The first two corners, then random points, always the same ones. */
function preflightPoints(space: Space): readonly Params[] {
  const ends = [...corners(space)].slice(0, 2);
  const drawn = Array.from({ length: PREFLIGHT_POINTS - ends.length }, (_, i) => drawParams(space, new Rng(0, i)));
  return [...new Map([...ends, ...drawn].map((params) => [JSON.stringify(params), params])).values()];
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
