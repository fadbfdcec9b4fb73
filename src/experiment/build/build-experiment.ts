// From a config that has been read to the options of an Experiment. Everything is checked before anything runs.
import { OptionError } from "../../core/errors.ts";
import type { AnyMetric } from "../../core/model.ts";
import { checkOptions, is, show, type Check, type Json } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import type { ConfigDocument, ConfigValue } from "../config/config-tree.ts";
import { withoutSecrets } from "../config/config-record.ts";
import { EXPERIMENT_CHECKS, LOADER_CHECKS } from "../experiment-options.ts";
import type { ExperimentOptions, LoaderOptions, ModelPlan, Setup } from "../types.ts";
import { prepareOptions, withoutNulls, type OptionRules } from "./build-component.ts";
import { BuildContext, filePath, isMap, type Recipe } from "./build-context.ts";
import { checkExperiment, checkPlan } from "./check-experiment.ts";
import { preprocessOf } from "./build-preprocess.ts";
import { CONFIG_KINDS } from "./kinds.ts";
import { prepareFunction } from "./user-exports.ts";

type Config = Readonly<Record<string, ConfigValue>>;
type Made = Record<string, unknown>;
type Checks = Readonly<Record<string, Check>>;

const without = <T>(map: Readonly<Record<string, T>>, ...keys: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));

/** Functions that are called later, with their options and what the experiment knows by then. */
export const FUNCTIONS: readonly string[] = ["loaders", "evaluate"];

/**
 * What a config may say: the options of an Experiment, except those that are derived from the config itself. In code, a run
 * of 0 epochs or steps fires the events of a run; in a config it is a mistake.
 */
export const CONFIG_CHECKS: Checks = {
  ...without<Check>(EXPERIMENT_CHECKS, "params", "config"),
  epochs: is.wholeFrom(1),
  steps: is.wholeFrom(1),
  // For the command line, which adds the hook.
  control: is.boolean,
};

/** One model and how it is trained; its data comes from the experiment. */
export const PLAN_CHECKS: Checks = without(
  CONFIG_CHECKS,
  "name",
  "runDir",
  "data",
  "split",
  "preprocess",
  "loader",
  "models",
  "control",
);

/** Keys of a file that are not options of the experiment: `$schema` is for editors, `extends` for the reader. */
export const FILE_KEYS: readonly string[] = ["$schema", "extends"];

/** Options of `buildExperiment`. */
export interface BuildExperimentOptions {
  /** The experiment is about to run here: keys and packages that its hooks and loggers need must be there. Default false. */
  readonly forRun?: boolean;
}

/**
 * The options of the experiment that a config describes. User exports are loaded, and called unless they look at data.
 * @throws ConfigError with every problem of the config, each with its position
 */
export async function buildExperiment(
  doc: ConfigDocument,
  { forRun = false }: BuildExperimentOptions = {},
): Promise<ExperimentOptions> {
  const context = new BuildContext(doc, CONFIG_KINDS, forRun);
  const { raw } = doc;
  const config = withoutNulls(doc.value);
  const rules = { owner: "config", checks: CONFIG_CHECKS, required: ["data"] };
  const plan = await buildPlan(context, rules, without(config, "preprocess", "loader", "models", ...FILE_KEYS), []);
  const made = without(plan as Record<string, unknown>, "control") as typeof plan;
  const preprocess = await preprocessOf(context, config.preprocess);
  const loader = loaderOf(context, config.loader);
  const models = await modelsOf(context, config, made, raw);
  const runDir = runDirOf(context, config);
  context.check();
  const options: ExperimentOptions = {
    ...(made as object as ExperimentOptions),
    runDir: runDir!,
    ...(preprocess && { preprocess }),
    ...(loader && { loader }),
    ...(models && { models }),
    params: paramsOf(raw),
    config: wholeConfig(raw),
  };
  checkExperiment(context, options);
  context.check();
  return options;
}

/** Undefined for a name or a directory that is no text, which is reported already. */
function runDirOf(context: BuildContext, { name = "experiment", runDir }: Config): string | undefined {
  const written = runDir ?? (typeof name === "string" ? `runs/${name}` : undefined);
  const path = [runDir === undefined ? "name" : "runDir"];
  return typeof written === "string" && written !== ""
    ? context.attempt(path, () => filePath(context, written, "write", path))
    : undefined;
}

function loaderOf(context: BuildContext, loader: unknown): LoaderOptions | undefined {
  if (loader === undefined) return undefined;
  if (!isMap(loader)) {
    context.add(["loader"], `Expected options such as { batchSize: 32 }, got ${show(loader)}.`);
    return undefined;
  }
  for (const [key, value] of Object.entries(withoutNulls(loader)))
    context.attempt(["loader", key], () => checkOptions("loader", { [key]: value }, LOADER_CHECKS));
  return withoutNulls(loader);
}

/** Several models, each with what the config says for all of them where it says nothing itself. */
async function modelsOf(
  context: BuildContext,
  top: Config,
  common: Record<string, unknown>,
  raw: Config,
): Promise<Record<string, ModelPlan> | undefined> {
  const { models } = top;
  const ofAll = (key: string): ConfigPath | undefined => (Object.hasOwn(top, key) ? [key] : undefined);
  if (models === undefined) {
    checkPlan(context, planOf(common), ofAll, []);
    return undefined;
  }
  if (!isMap(models) || Object.keys(models).length === 0) {
    context.add(["models"], `Expected models by name, got ${show(models)}.`);
    return undefined;
  }
  const plans: Record<string, ModelPlan> = {};
  for (const [name, config] of Object.entries(withoutNulls(models))) {
    const path = ["models", name];
    if (!isMap(config)) {
      context.add(path, `Expected the options of a model, got ${show(config)}.`);
      continue;
    }
    const rules = { owner: path.join("."), checks: PLAN_CHECKS };
    const plan = await buildPlan(context, rules, config, path);
    const ofModel = (key: string): ConfigPath | undefined =>
      Object.hasOwn(withoutNulls(config), key) ? [...path, key] : ofAll(key);
    checkPlan(context, { ...planOf(common), ...plan }, ofModel, path);
    const asWritten = isMap(raw.models) ? (raw.models[name] as Config) : {};
    plans[name] = { ...(plan as ModelPlan), params: paramsOf(raw, asWritten) };
  }
  return plans;
}

const planOf = (made: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(made).filter(([key]) => Object.hasOwn(PLAN_CHECKS, key)));

/** All of a plan, made as far as possible without data; keys with problems are left out. */
async function buildPlan(
  context: BuildContext,
  rules: OptionRules,
  config: Readonly<Record<string, unknown>>,
  path: ConfigPath,
): Promise<Made> {
  const made: Made = {};
  const rest: Made = {};
  for (const [key, value] of Object.entries(withoutNulls(config))) {
    // In a TypeScript config these may be what an Experiment takes in code.
    const isFunction = typeof value === "function" && ["model", "metrics", ...FUNCTIONS].includes(key);
    if (isFunction) made[key] = value;
    else if (FUNCTIONS.includes(key)) {
      const found = await prepareFunction(context, value, [...path, key]);
      if (found) made[key] = key === "evaluate" ? evaluation(found) : (setup: Setup) => found(setup);
    } else rest[key] = value;
  }
  const { recipes } = await prepareOptions(context, rules, rest, path);
  for (const [key, recipe] of Object.entries(recipes)) {
    const value = await makeOne(context, key, recipe, rest[key], [...path, key]);
    if (value !== undefined) made[key] = value;
  }
  return made;
}

/** Called like every user function, with options first; the trainer to evaluate is in the setup. */
const evaluation =
  (found: (...given: readonly unknown[]) => unknown): ModelPlan["evaluate"] =>
  async (trainer, setup) =>
    (await found({ ...setup, trainer })) as Record<string, number>;

async function makeOne(
  context: BuildContext,
  key: string,
  recipe: Recipe,
  config: unknown,
  path: ConfigPath,
): Promise<unknown> {
  const finish = context.attempt(path, () => (key === "metrics" ? nameMetrics(config) : (value: unknown) => value));
  if (finish === undefined) return undefined;
  if (recipe.needsSetup) return (setup: Setup) => finish(recipe.make(setup));
  return context.attemptAsync(path, async () => {
    const made = recipe.make();
    return finish(Array.isArray(made) ? await Promise.all(made) : await made);
  });
}

/** The names of the metrics in a config. In a list each is named after what it uses. */
export function metricNames(config: unknown): readonly string[] {
  if (!Array.isArray(config)) return Object.keys(config ?? {});
  return config.map((item: unknown, i) => {
    const use = typeof item === "string" ? item : (item as { use?: unknown } | null)?.use;
    return typeof use === "string" ? use.slice(use.lastIndexOf("#") + 1) : `metric${i}`;
  });
}

/** A list of metrics becomes a map. */
function nameMetrics(config: unknown): (made: unknown) => unknown {
  if (!Array.isArray(config)) return (made) => made;
  const names = metricNames(config);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new OptionError(`There are two metrics \`${twice}\`. Give them names: { first: ${twice}, second: … }.`);
  return (made) => Object.fromEntries((made as readonly AnyMetric[]).map((metric, i) => [names[i]!, metric]));
}

/** Keys that are not hyperparameters of a model: they belong to the experiment, or say how a run is observed. */
const NOT_OF_A_MODEL: ReadonlySet<string> = new Set([
  "$schema",
  "extends",
  "name",
  "runDir",
  "data",
  "split",
  "preprocess",
  "models",
  "hooks",
  "control",
]);

/**
 * The hyperparameters of a model as plain data, with environment variables as they are written.
 * @param own the part of the config for this model, where there are several
 */
function paramsOf(raw: Config, own: Config = {}): Readonly<Record<string, Json>> {
  const entries = Object.entries({ ...raw, ...own }).filter(([key]) => !NOT_OF_A_MODEL.has(key));
  return Object.fromEntries(entries.map(([key, value]) => [key, plain(value)]));
}

/** The whole config, for hooks. A secret from the environment is shown by the name of its variable. */
function wholeConfig(raw: Config): Readonly<Record<string, Json>> {
  return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, plain(value, withoutSecrets)]));
}

/** Functions and objects of a TypeScript config are recorded by their names. */
function plain(value: unknown, text = (written: string): string => written): Json {
  if (typeof value === "string") return text(value);
  if (typeof value === "function") return `[${value.name || "function"}]`;
  if (typeof value !== "object" || value === null) return value as Json;
  if (Array.isArray(value)) return value.map((each) => plain(each, text));
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  if (prototype !== null && prototype !== Object.prototype) return `[${prototype.constructor?.name ?? "object"}]`;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each, text)]));
}
