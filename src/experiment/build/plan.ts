// One model of a config and how it is trained.
import { OptionError } from "../../core/errors.ts";
import type { Metric } from "../../core/model.ts";
import type { ConfigPath } from "../config/config-error.ts";
import type { ModelPlan, Setup } from "../types.ts";
import { prepareOptions, written, type OptionRules } from "./options.ts";
import { prepareFunction } from "./own.ts";
import type { Problems } from "./problems.ts";
import type { Recipe } from "./recipe.ts";
import { FUNCTIONS } from "./rules.ts";

type Map = Readonly<Record<string, unknown>>;
type Made = Record<string, unknown>;

/** All of a plan, made as far as it can be without data; keys with problems are left out. */
export async function buildPlan(problems: Problems, rules: OptionRules, config: Map, path: ConfigPath): Promise<Made> {
  const made: Made = {};
  const rest: Made = {};
  for (const [key, value] of Object.entries(written(config))) {
    // In a TypeScript config these may be what an Experiment takes in code.
    const isFunction = typeof value === "function" && ["model", "metrics", ...FUNCTIONS].includes(key);
    if (isFunction) made[key] = value;
    else if (FUNCTIONS.includes(key)) {
      const found = await prepareFunction(problems, value, [...path, key]);
      if (found) made[key] = key === "evaluate" ? evaluation(found) : (setup: Setup) => found(setup);
    } else rest[key] = value;
  }
  const { recipes } = await prepareOptions(problems, rules, rest, path);
  for (const [key, recipe] of Object.entries(recipes)) {
    const value = await makeOne(problems, key, recipe, rest[key], [...path, key]);
    if (value !== undefined) made[key] = value;
  }
  return made;
}

/** Called as all others of the user's are, with options first; what it judges is in the setup. */
const evaluation =
  (found: (...given: readonly unknown[]) => unknown): ModelPlan["evaluate"] =>
  async (trainer, setup) =>
    (await found({ ...setup, trainer })) as Record<string, number>;

async function makeOne(
  problems: Problems,
  key: string,
  recipe: Recipe,
  config: unknown,
  path: ConfigPath,
): Promise<unknown> {
  const finish = problems.attempt(path, () => (key === "metrics" ? nameMetrics(config) : (value: unknown) => value));
  if (finish === undefined) return undefined;
  if (recipe.needsSetup) return (setup: Setup) => finish(recipe.make(setup));
  return problems.attemptAsync(path, async () => {
    const made = recipe.make();
    return finish(Array.isArray(made) ? await Promise.all(made) : await made);
  });
}

/** What the metrics of a config are called. In a list each has the name that it uses. */
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
  return (made) => Object.fromEntries((made as readonly Metric[]).map((metric, i) => [names[i]!, metric]));
}
