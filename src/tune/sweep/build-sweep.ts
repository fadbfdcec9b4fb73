// Turns a sweep that was read into the options of a Study. Everything is checked before anything runs.
import { OptionError } from "../../core/errors.ts";
import { prepareComponent, prepareOptions, withoutNulls } from "../../experiment/build/build-component.ts";
import { BuildContext, isMap } from "../../experiment/build/build-context.ts";
import { FILE_KEYS } from "../../experiment/build/build-experiment.ts";
import { isModuleSpecifier } from "../../experiment/config/modules.ts";
import { CONFIG_KINDS, type Kinds, hasMethods, rulesOf } from "../../experiment/build/kinds.ts";
import { builtin } from "../../platform/builtin.ts";
import { loadTrial } from "../runners/load-trial.ts";
import type { Runner } from "../runners/runner.ts";
import type { Space } from "../space/space.ts";
import { planStudy, STUDY_CHECKS, type StudyOptions, type StudyPlan } from "../study-options.ts";
import { checkExperiment, trainingHooks } from "./preflight-sweep.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { SWEEP_FILE } from "./sweep-record.ts";
import { is, type Check } from "../../core/options.ts";
import type { Hook } from "../../core/hook.ts";
import type { HookSource } from "../module-hooks.ts";
import { spaceFromConfig } from "../space/space-data.ts";
import { pathInSweep } from "./trial-config.ts";
import { componentsIn } from "../../core/component.ts";

type Map = Readonly<Record<string, unknown>>;
type Made = StudyOptions<Space> & { readonly experiment?: unknown };

/** The kinds of components that only a sweep can name. They also get what no config says: the space, the seed, the directory. */
export const OWN_KINDS = {
  sampler: {
    what: "a sampler",
    looks: "an object with a `name` and `suggest`",
    test: (value) => hasMethods(value, "suggest"),
    load: async () => componentsIn(await import("../index.ts"), "sampler"),
  },
  scheduler: {
    what: "a scheduler",
    looks: "an object with a `name` and `decide`",
    test: (value) => hasMethods(value, "decide"),
    load: async () => componentsIn(await import("../index.ts"), "scheduler"),
  },
  runner: {
    what: "a runner",
    looks: "an object with `open`, `run` and `close`",
    test: (value) => hasMethods(value, "open", "run", "close"),
    load: async () => componentsIn(await import("../index.ts"), "runner"),
  },
} satisfies Kinds;

/** All kinds of components that a sweep can name. */
export const SWEEP_KINDS = { ...CONFIG_KINDS, ...OWN_KINDS };

const OWN_KIND_NAMES = Object.keys(OWN_KINDS) as (keyof typeof OWN_KINDS)[];
const DEFAULT_NAME = "study";

const { signals: _signals, warn: _warn, ...study } = STUDY_CHECKS;

/** What a sweep may contain: the options of a Study, and the experiment that its trials run. */
export const SWEEP_CHECKS: Readonly<Record<string, Check>> = {
  ...study,
  experiment: { ...is.or(is.name, is.object), expected: "the path of a config, or the config itself" },
};

/**
 * The options of the study that a sweep describes. Its directory is `runs/<name>` by default.
 * @throws ConfigError with every problem at its place in the file
 */
export async function buildSweep(sweep: SweepDocument): Promise<StudyOptions<Space> & { readonly dir: string }> {
  const { doc } = sweep;
  const context = new BuildContext(doc, SWEEP_KINDS);
  const config = withoutNulls(doc.value);
  const space = config["space"] === undefined ? undefined : readSpace(context, config["space"]);
  const skipped: readonly string[] = ["space", "hooks", ...OWN_KIND_NAMES, ...FILE_KEYS];
  const name = typeof config["name"] === "string" ? config["name"] : DEFAULT_NAME;
  const rest = Object.entries({ dir: `runs/${name}`, ...config }).filter(([key]) => !skipped.includes(key));
  const rules = { owner: "sweep", checks: SWEEP_CHECKS };
  const { recipes } = await prepareOptions(context, rules, Object.fromEntries(rest), []);
  if (config["space"] === undefined) context.add([], "missing `space`: the parameters to search.");
  checkTrials(context, config);
  const directory = doc.directoryOf(["trial"]);
  const parts = await partsOf(context, config, space, directory);
  context.check();
  const made = Object.fromEntries(Object.entries(recipes).map(([key, recipe]) => [key, recipe.make()]));
  const { experiment: _experiment, ...options } = { space: space!, ...parts, ...made } as Made;
  const trial = await trialOf(context, options, directory);
  const built = { ...options, dir: options.dir!, trial };
  let plan: StudyPlan | undefined;
  try {
    plan = planStudy(built);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    context.add(error.option === undefined ? [] : [error.option], error.message, error);
  }
  context.check();
  if (sweep.experiment) await checkExperiment(sweep, space!, plan!.objectives, await trainingHooks(plan!, directory));
  return built;
}

async function partsOf(
  context: BuildContext,
  config: Map,
  space: Space | undefined,
  directory: string,
): Promise<Pick<StudyOptions, "sampler" | "scheduler" | "runner" | "hooks">> {
  const parts: Record<string, unknown> = {};
  // Without a space no sampler can be made; the space's own problem is known already.
  for (const kind of space ? OWN_KIND_NAMES : []) {
    if (config[kind] === undefined) continue;
    const value = await withSeed(kind, config[kind], config["seed"]);
    const recipe = await prepareComponent(context, kind, value, [kind], { space, directory });
    const made = recipe && (await context.attemptAsync([kind], () => recipe.make()));
    if (made !== undefined) parts[kind] = made;
  }
  const isHere = (parts["runner"] as Runner | undefined)?.name === "inProcess";
  if (config["hooks"] !== undefined)
    parts["hooks"] = await sweepHooks(context, config["hooks"], isHere ? undefined : directory);
  return parts;
}

function checkTrials(context: BuildContext, config: Map): void {
  const [trial, experiment] = [config["trial"], config["experiment"]];
  if (trial !== undefined && experiment !== undefined)
    context.add(["trial"], "A sweep has a `trial` or an `experiment`, not both.");
  if (trial === undefined && experiment === undefined)
    context.add([], "missing `trial` (./trial.ts#train), or `experiment`: the config of the experiment to sweep over.");
}

/** Components that take a `seed` get the study's, unless the config gives them their own. */
async function withSeed(kind: keyof typeof OWN_KINDS, value: unknown, seed: unknown): Promise<unknown> {
  const component = typeof value === "string" ? { use: value } : value;
  if (seed === undefined || !isMap(component)) return value;
  const { use } = component;
  if (typeof use !== "string" || isModuleSpecifier(use)) return value;
  const components = await OWN_KINDS[kind].load();
  const known = Object.hasOwn(components, use) ? components[use] : undefined;
  return known && Object.hasOwn(rulesOf(SWEEP_KINDS, known).checks, "seed") ? { seed, ...component } : value;
}

/** The trial as its runner takes it: by name, or as a function in this process. A missing export is a problem here. */
async function trialOf(
  context: BuildContext,
  { dir, trial, runner }: StudyOptions<Space>,
  directory: string,
): Promise<StudyOptions<Space>["trial"]> {
  const isHere = runner?.name === "inProcess";
  const { trial: named } = context.doc.value;
  if (named === undefined) {
    const record = `${builtin("A sweep", "node:path").resolve(dir!)}/${SWEEP_FILE}`;
    return isHere ? async (job) => (await loadTrial(record, directory))(job as never) : record;
  }
  if (typeof named !== "string") return trial;
  const found = await context.attemptAsync(["trial"], () => loadTrial(named, directory));
  return isHere ? (found as StudyOptions<Space>["trial"]) : named;
}

/**
 * The hooks of a sweep. Built-in ones are made here; the user's own stay names, for trials in processes of their own.
 * @param directory what the names become relative to; undefined: all hooks are made here
 */
async function sweepHooks(
  context: BuildContext,
  config: unknown,
  directory: string | undefined,
): Promise<readonly (Hook | HookSource)[]> {
  const isList = Array.isArray(config);
  const hooks: (Hook | HookSource)[] = [];
  for (const [i, value] of (isList ? (config as readonly unknown[]) : [config]).entries()) {
    const path = isList ? ["hooks", i] : ["hooks"];
    const recipe = await prepareComponent(context, "hook", value, path);
    if (!recipe) continue;
    const source = directory === undefined ? undefined : sourceOf(context, value, path, directory);
    const hook = source ?? (await context.attemptAsync(path, () => recipe.make()));
    if (hook !== undefined) hooks.push(hook as Hook | HookSource);
  }
  return hooks;
}

/** The user's own hook by name, relative to `directory` wherever it was written; undefined for a built-in one. */
function sourceOf(
  { doc }: BuildContext,
  value: unknown,
  path: readonly (string | number)[],
  directory: string,
): HookSource | undefined {
  const component = typeof value === "string" ? { use: value } : value;
  if (!isMap(component) || typeof component["use"] !== "string" || !isModuleSpecifier(component["use"]))
    return undefined;
  const { relative, resolve } = builtin("A sweep", "node:path");
  const { use } = component;
  if (!/^\.{1,2}\//.test(use)) return { ...component, use };
  const file = relative(directory, resolve(doc.directoryOf(path), use)).replaceAll("\\", "/");
  return { ...component, use: file.startsWith(".") ? file : `./${file}` };
}

/** The sweep's space; undefined, with a problem in the context, when it is wrong. */
function readSpace(context: BuildContext, config: unknown): Space | undefined {
  try {
    return spaceFromConfig(config);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    // The place in the file replaces the name in the message.
    const message = error.message.replace(/^space: (?:`[^`]*`: )?/, "");
    context.add(pathInSweep(config, error.option ?? ""), message, error);
    return undefined;
  }
}
