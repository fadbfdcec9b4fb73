// Checks the experiment of a sweep before the first trial: whether it can be built wherever in the space a trial is, and
// whether it works at all, with its data, its loaders and its layers.
import { CheckedHook } from "../../core/registry/checked-hook.ts";
import type { Hook } from "../../core/hook.ts";
import { Rng } from "../../data/random.ts";
import { buildExperiment, metricNames } from "../../experiment/build/build-experiment.ts";
import { configError, type ConfigDocument } from "../../experiment/config/config-tree.ts";
import { Experiment } from "../../experiment/experiment.ts";
import type { Split, SplitData } from "../../experiment/types.ts";
import { trialDirectory } from "../../runs/layout.ts";
import { ModuleHooks } from "../module-hooks.ts";
import { drawParams } from "../samplers/random.ts";
import type { Space } from "../space/space.ts";
import { planStudy, type StudyOptions, type StudyPlan } from "../study-options.ts";
import { listensTo } from "../trial.ts";
import type { Objective, Params } from "../types.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { configAt } from "./trial-config.ts";
import { OptionError } from "../../core/errors.ts";
import { didYouMean, monitorValue } from "../../core/names.ts";

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

type Config = Readonly<Record<string, unknown>>;

const PARTS = ["train", "val", "test"] as const;

/** Whether the user's own code takes part in what is logged: then any metric is possible. */
function isOpen({ loaders, evaluate, metrics, hooks }: Config): boolean {
  return isThere(loaders) || isThere(evaluate) || typeof metrics === "function" || isOwn(hooks);
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/** A hook that a module exports, that a TypeScript config made, or that a built-in hook wraps. */
function isOwn(hooks: unknown): boolean {
  if (typeof hooks === "string") return /#|^\.{1,2}\//.test(hooks);
  if (typeof hooks !== "object" || hooks === null) return typeof hooks === "function";
  const isPlain = Array.isArray(hooks) || Object.getPrototypeOf(hooks) === Object.prototype;
  return !isPlain || Object.values(hooks).some(isOwn);
}

/** Why a metric will be missing; undefined where it will not, or where that is not known yet. */
function whyMissing(metric: string, config: Config, has: (part: "val" | "test") => boolean): string | undefined {
  // A metric with another prefix comes from a hook.
  if (/^(?!(?:train|val|eval|test)\/)[^/]+\//.test(metric)) return undefined;
  const names = PARTS.flatMap((part) => ["loss", ...metricNames(config["metrics"])].map((name) => `${part}/${name}`));
  if (monitorValue(Object.fromEntries(names.map((name) => [name, 0])), metric) === undefined) {
    const near = didYouMean(metric, names) || didYouMean(`val/${metric}`, names);
    return `There is no metric \`${metric}\`.${near} The experiment has: ${names.join(", ")}. Name one of them, or add to its \`metrics\`.`;
  }
  if (metric.startsWith("train/")) return undefined;
  const part = metric.startsWith("test/") ? "test" : "val";
  if (has(part)) return undefined;
  const what = part === "test" ? "test" : "validate";
  return `\`${metric}\` needs data to ${what} on, and there is none. Give the experiment a split: \`split: { use: holdout, ${part}: 0.1 }\`.`;
}

/**
 * What is wrong with an objective, by the configs alone.
 * @param sweep its hooks may change results
 */
function problemOfObjective(metric: string, experiment: Config, sweep: Config): string | undefined {
  if (isOpen(experiment) || isOwn(sweep["hooks"])) return undefined;
  return whyMissing(metric, experiment, () => isThere(experiment["split"]));
}

/** Checks what is known once the data is split: a split need not make all parts. */
export function checkSplit(
  objectives: readonly string[],
  experiment: Config,
  { main, folds = [] }: Partial<SplitData<unknown>>,
): void {
  // Each fold would report as if it were the whole trial.
  if (folds.length > 0)
    throw new OptionError("A sweep trains on one split, but `split` makes folds. Choose another, such as holdout.");
  if (isOpen(experiment)) return;
  for (const metric of objectives) {
    const problem = whyMissing(metric, experiment, (part) => main?.[part] !== undefined);
    if (problem !== undefined) throw new OptionError(problem);
  }
}
