// Finds an experiment of which every trial would fail, before the first trial: a loader that does not fit the model,
// layers that do not fit each other, a monitor that nothing provides, data that cannot be read or split.
import type { Hook } from "../../core/hook.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { type ConfigDocument, configError } from "../../experiment/config/document.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { Split } from "../../experiment/types.ts";
import type { Space } from "../space/space.ts";
import { trialDirectory } from "../../runs/layout.ts";
import { planStudy, type StudyOptions } from "../study-options.ts";
import type { Objective, Params } from "../types.ts";
import { checkSplit, problemOfObjective } from "./check-objectives.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { placeOf, trainingHooks } from "./build-sweep.ts";
import { CheckedHook } from "../../core/registry/checked-hook.ts";
import { Rng } from "../../data/random.ts";
import { documentOf } from "../../experiment/config/read-config.ts";
import { drawParams } from "../samplers/random.ts";
import { applyParams } from "./trial-config.ts";

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

// Whether the experiment of a sweep can be built wherever in the space a trial is: told before the first one runs.

/** @param hooks of the sweep that listen to a training */
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
    const twice = duplicateHook(own, hooks);
    if (twice)
      throw configError(built, Array.isArray(built.value["hooks"]) ? ["hooks", twice.index] : ["hooks"], twice.message);
    for (const [i, { metric }] of objectives.entries()) {
      const problem = problemOfObjective(metric, built.value, doc.value);
      const place = doc.value["objectives"] === undefined ? ["objective"] : ["objectives", i];
      if (problem !== undefined) throw configError(doc, place, problem);
    }
  }
}

// Whether the hooks of a sweep's trials have different names: those of the experiment, which are compared among each other
// when it is built, those of the sweep that listen to a training, and those that every trial adds.

export const TRIAL_HOOK = "trial";
export const CHECKS_HOOK = "sweep";

interface Duplicate {
  /** Which of the experiment's hooks it is. */
  readonly index: number;
  readonly message: string;
}

/** @param sweep hooks of the sweep that listen to a training */
function duplicateHook(experiment: readonly Hook[], sweep: readonly Hook[]): Duplicate | undefined {
  const names = new Map<string, string>([
    [TRIAL_HOOK, "by every trial"],
    [CHECKS_HOOK, "by every trial"],
    ...sweep.map((hook) => [new CheckedHook(hook).name, "by a hook of the sweep"] as const),
  ]);
  for (const [index, hook] of experiment.entries()) {
    const { name } = new CheckedHook(hook);
    const taken = names.get(name);
    if (taken !== undefined)
      return { index, message: `The name \`${name}\` of this hook is used ${taken} too. Give it another \`name\`.` };
  }
  return undefined;
}

// Points of a sweep's space at which its experiment is checked before the first trial, and the config at such a point.

/** At most so many options of a choice are visited. */
const MOST = 20;

/** Both ends of every number, and every option of every choice. */
function* corners(space: Space): Iterable<Params> {
  const options = space.parameters.map((parameter) => (parameter.kind === "choice" ? parameter.labels.length : 2));
  const count = Math.min(MOST, Math.max(...options));
  for (let i = 0; i < count; i++) {
    yield space.build((parameter) =>
      parameter.kind === "choice"
        ? Math.min(i, parameter.labels.length - 1)
        : i % 2 === 0
          ? parameter.domain.low
          : parameter.domain.high,
    );
  }
}

/** The first two corners, then points drawn at random, always the same ones. */
function pointsOf(space: Space, count: number): readonly Params[] {
  const ends = [...corners(space)].slice(0, 2);
  const drawn = Array.from({ length: count - ends.length }, (_, i) => drawParams(space, new Rng(0, i)));
  return [...new Map([...ends, ...drawn].map((params) => [JSON.stringify(params), params])).values()];
}

/** The config of the experiment with these parameters. */
function configAt({ doc, experiment }: SweepDocument, space: Space, params: Params): Promise<ConfigDocument> {
  const directory = doc.directoryOf(["space"]);
  const at = (path: readonly string[]) => doc.locate(placeOf(doc.value["space"], path.join("."))) ?? { file: doc.file };
  return documentOf(applyParams(experiment!.tree, space, params, { at, directory }), { ...experiment!, set: [] });
}
