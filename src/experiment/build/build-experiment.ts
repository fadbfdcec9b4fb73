// From a config that has been read to the options of an Experiment. Everything is checked before anything runs.
import { checkOptions, show } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import type { ConfigDocument, ConfigValue } from "../config/document.ts";
import type { ExperimentOptions, LoaderOptions, ModelPlan } from "../types.ts";
import { paramsOf, wholeConfig } from "./params.ts";
import { written } from "./options.ts";
import { filePath } from "./paths.ts";
import { checkExperiment, checkPlan } from "./check-plan.ts";
import { buildPlan } from "./plan.ts";
import { Problems } from "./problems.ts";
import { CONFIG_CHECKS, FILE_KEYS, LOADER_CHECKS, PLAN_CHECKS } from "./rules.ts";
import { isMap } from "./is-map.ts";

type Map = Readonly<Record<string, ConfigValue>>;

const entriesOf = (map: Map, ...without: readonly string[]): Map =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !without.includes(key)));

/** Options of `buildExperiment`. */
export interface BuildExperimentOptions {
  /** It is about to run here: keys and packages that its hooks and loggers need must be there. Default false. */
  readonly forRun?: boolean;
}

/**
 * The options of the experiment that a config describes. Own components are loaded, and made unless they look at data.
 * @throws ConfigError with every problem of the config, each at its place
 */
export async function buildExperiment(
  doc: ConfigDocument,
  { forRun = false }: BuildExperimentOptions = {},
): Promise<ExperimentOptions> {
  const problems = new Problems(doc, forRun);
  const { raw } = doc;
  const config = written(doc.value);
  const top = { owner: "config", checks: CONFIG_CHECKS, required: ["data"] };
  const made = await buildPlan(problems, top, entriesOf(config, "loader", "models", ...FILE_KEYS), []);
  const loader = loaderOf(problems, config.loader);
  const models = await modelsOf(problems, config, made, raw);
  const runDir = runDirOf(problems, config);
  problems.check();
  const options: ExperimentOptions = {
    ...(made as object as ExperimentOptions),
    runDir: runDir!,
    ...(loader && { loader }),
    ...(models && { models }),
    params: paramsOf(raw),
    config: wholeConfig(raw),
  };
  checkExperiment(problems, options);
  problems.check();
  return options;
}

/** A name or a directory that is no text has been told of already. */
function runDirOf(problems: Problems, { name = "experiment", runDir }: Map): string | undefined {
  const written = runDir ?? (typeof name === "string" ? `runs/${name}` : undefined);
  const path = [runDir === undefined ? "name" : "runDir"];
  return typeof written === "string" && written !== ""
    ? problems.attempt(path, () => filePath(problems, written, "write", path))
    : undefined;
}

function loaderOf(problems: Problems, loader: unknown): LoaderOptions | undefined {
  if (loader === undefined) return undefined;
  if (!isMap(loader)) {
    problems.add(["loader"], `Expected options such as { batchSize: 32 }, got ${show(loader)}.`);
    return undefined;
  }
  for (const [key, value] of Object.entries(written(loader)))
    problems.attempt(["loader", key], () => checkOptions("loader", { [key]: value }, LOADER_CHECKS));
  return written(loader);
}

/** Several models, each with what the config says for all of them where it says nothing itself. */
async function modelsOf(
  problems: Problems,
  top: Map,
  common: Record<string, unknown>,
  raw: Map,
): Promise<Record<string, ModelPlan> | undefined> {
  const { models } = top;
  const ofAll = (key: string): ConfigPath | undefined => (Object.hasOwn(top, key) ? [key] : undefined);
  if (models === undefined) {
    checkPlan(problems, planOf(common), ofAll, []);
    return undefined;
  }
  if (!isMap(models) || Object.keys(models).length === 0) {
    problems.add(["models"], `Expected models by name, got ${show(models)}.`);
    return undefined;
  }
  const plans: Record<string, ModelPlan> = {};
  for (const [name, config] of Object.entries(written(models))) {
    const path = ["models", name];
    if (!isMap(config)) {
      problems.add(path, `Expected the options of a model, got ${show(config)}.`);
      continue;
    }
    const rules = { owner: path.join("."), checks: PLAN_CHECKS };
    const plan = await buildPlan(problems, rules, config, path);
    const ofModel = (key: string): ConfigPath | undefined =>
      Object.hasOwn(written(config), key) ? [...path, key] : ofAll(key);
    checkPlan(problems, { ...planOf(common), ...plan }, ofModel, path);
    const asWritten = isMap(raw.models) ? (raw.models[name] as Map) : {};
    plans[name] = { ...(plan as ModelPlan), params: paramsOf(raw, asWritten) };
  }
  return plans;
}

const planOf = (made: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(made).filter(([key]) => Object.hasOwn(PLAN_CHECKS, key)));
