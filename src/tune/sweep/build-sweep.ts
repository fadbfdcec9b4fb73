// From a sweep that has been read to the options of a Study. Everything is checked before anything runs.
import { OptionError } from "../../core/errors.ts";
import { prepareComponent, prepareOptions, withoutNulls } from "../../experiment/build/build-component.ts";
import { BuildContext, isMap } from "../../experiment/build/build-context.ts";
import { FILE_KEYS } from "../../experiment/build/build-experiment.ts";
import { isModuleSpecifier } from "../../experiment/config/modules.ts";
import { rulesOf } from "../../experiment/build/kinds.ts";
import { builtin } from "../../platform/builtin.ts";
import { loadTrial } from "../runners/load-trial.ts";
import type { Runner } from "../runners/runner.ts";
import type { Space } from "../space/space.ts";
import { planStudy, STUDY_CHECKS, type StudyOptions, type StudyPlan } from "../study-options.ts";
import { checkExperiment } from "./preflight-sweep.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { OWN_KINDS, SWEEP_KINDS } from "./sweep-kinds.ts";
import { SWEEP_FILE } from "./sweep-record.ts";
import { is, type Check } from "../../core/options.ts";
import type { Hook } from "../../core/hook.ts";
import { type HookSource, ModuleHooks } from "../module-hooks.ts";
import type { ConfigPath } from "../../experiment/config/config-error.ts";
import { spaceFromConfig } from "../space/space-data.ts";
import { listensTo } from "../trial.ts";

type Map = Readonly<Record<string, unknown>>;
type Made = StudyOptions<Space> & { readonly experiment?: unknown };

/** Made here, since they are given what no config says: the space, the seed, the directory. */
const GIVEN = Object.keys(OWN_KINDS) as (keyof typeof OWN_KINDS)[];
const DEFAULT_NAME = "study";

/**
 * The options of the study that a sweep describes; it has a directory, `runs/<name>` by default.
 * @throws ConfigError with what is wrong, each at its place
 */
export async function buildSweep(sweep: SweepDocument): Promise<StudyOptions<Space> & { readonly dir: string }> {
  const { doc } = sweep;
  const context = new BuildContext(doc, SWEEP_KINDS);
  const config = withoutNulls(doc.value);
  const space = config["space"] === undefined ? undefined : readSpace(context, config["space"]);
  const skipped: readonly string[] = ["space", "hooks", ...GIVEN, ...FILE_KEYS];
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
  // Without a space there is no sampler to make, and the space's error has been told.
  for (const kind of space ? GIVEN : []) {
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

/** The study's seed is that of its parts, unless they have their own. */
async function withSeed(kind: keyof typeof OWN_KINDS, value: unknown, seed: unknown): Promise<unknown> {
  const component = typeof value === "string" ? { use: value } : value;
  if (seed === undefined || !isMap(component)) return value;
  const { use } = component;
  if (typeof use !== "string" || isModuleSpecifier(use)) return value;
  const components = await OWN_KINDS[kind].load();
  const known = Object.hasOwn(components, use) ? components[use] : undefined;
  return known && Object.hasOwn(rulesOf(SWEEP_KINDS, known).checks, "seed") ? { seed, ...component } : value;
}

/** As its runner takes it: by name, or as a function in this process. What has no such export is told now. */
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

// What may stand in a sweep: the options of a Study under their own names, and what its trials are.

const { signals: _signals, warn: _warn, ...study } = STUDY_CHECKS;

export const SWEEP_CHECKS: Readonly<Record<string, Check>> = {
  ...study,
  experiment: { ...is.or(is.name, is.object), expected: "the path of a config, or the config itself" },
};

// The hooks of a sweep: built-in ones are made here, own ones by name, where trials run in processes of their own.

/** @param directory what names of modules are to be relative to; undefined: all hooks are made here */
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

/** Of an own component: relative to `directory`, wherever it was written. */
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
  const way = relative(directory, resolve(doc.directoryOf(path), use)).replaceAll("\\", "/");
  return { ...component, use: way.startsWith(".") ? way : `./${way}` };
}

// The space of a sweep, and where each of its paths was written.

/** Undefined when something is wrong with it, which is a problem then. */
function readSpace(context: BuildContext, config: unknown): Space | undefined {
  try {
    return spaceFromConfig(config);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const path = placeOf(config, error.option ?? "");
    // The place says which one.
    context.add(path, error.message.replace(/^space: (?:`[^`]*`: )?/, ""), error);
    return undefined;
  }
}

/** The path in a sweep of what the space has at `option`: a key at its top may be a path itself. */
export function placeOf(config: unknown, option: string): ConfigPath {
  const keys = isMap(config) ? Object.keys(config) : [];
  const key = keys.find((one) => option === one || option.startsWith(`${one}.`) || option.startsWith(`${one}[`));
  if (key === undefined) return ["space"];
  const rest = option.slice(key.length).replaceAll(/\[(\d+)\]/g, ".options.$1");
  return ["space", key, ...rest.split(".").filter(Boolean)];
}

// The hooks of a sweep that listen to the training of each trial.

/** Hooks that are named by their module's export are made once more, to know their names and events. */
export async function trainingHooks({ hooks, hookSources }: StudyPlan, directory: string): Promise<readonly Hook[]> {
  const { hooks: made } = await ModuleHooks.make(hookSources, directory);
  return [...hooks, ...made].filter((hook) => listensTo(hook, "training"));
}
