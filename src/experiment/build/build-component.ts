// Components of a config and their options, checked and ready to be made. A component's options may hold components in
// turn, which is why options and components are prepared in one file.
import type { Component } from "../../core/component.ts";
import { didYouMean } from "../../core/names.ts";
import { checkOptions, is, show, type Check, type Holds, type Kind } from "../../core/options.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier } from "../config/modules.ts";
import { byName, filePath, given, isMap, listed, type BuildContext, type Recipe } from "./build-context.ts";
import { expectedOf, kindInfo, rulesOf } from "./kinds.ts";
import { exportOf, prepareUserExport } from "./user-exports.ts";

type Options = Readonly<Record<string, unknown>>;

/**
 * A component: `{ use: name, …options }`, a bare name, a user export, or an instance from a TypeScript config.
 * @param supplies what a component may need that the config does not say, such as a sampler's space
 */
export async function prepareComponent(
  context: BuildContext,
  kind: Kind,
  value: unknown,
  path: ConfigPath,
  supplies: Options = {},
): Promise<Recipe | undefined> {
  const { what, test, load } = kindInfo(context.kinds, kind);
  if (typeof value !== "string" && !(isMap(value) && Object.hasOwn(value, "use"))) {
    if (test(value)) return given(value);
    const missing = isMap(value) ? " It has no `use`." : "";
    context.add(path, `Expected ${what}: its name, or { use: name } with options, got ${show(value)}.${missing}`);
    return undefined;
  }
  const { use, ...options } = typeof value === "string" ? { use: value } : (value as { use: unknown });
  // A bare name is written where the component is, and has no key of its own.
  const usePath = typeof value === "string" ? path : [...path, "use"];
  if (typeof use !== "string") {
    context.add(usePath, `Expected \`use\` to be a name or ./file.ts#Export, got ${show(use)}.`);
    return undefined;
  }
  if (isModuleSpecifier(use)) return prepareUserExport(context, kind, use, options, usePath);
  const components = await load();
  if (Object.hasOwn(components, use)) return prepareBuiltin(context, use, components[use]!, options, path, supplies);
  const known = Object.keys(components);
  const noun = what.replace(/^an? /, "");
  context.add(
    usePath,
    `There is no ${noun} \`${use}\`.${didYouMean(use, known)} Known: ${known.join(", ")}, or your own: ./file.ts#Export.`,
  );
  return undefined;
}

async function prepareBuiltin(
  context: BuildContext,
  use: string,
  component: Component,
  options: Options,
  path: ConfigPath,
  supplies: Options,
): Promise<Recipe | undefined> {
  const { make, takes, checkEnvironment } = component;
  const { args: positional = {}, spread = false, options: table, supplied = [] } = takes?.() ?? {};
  const args = Object.keys(positional);
  const rules = { owner: use, ...rulesOf(context.kinds, component) };
  const { recipes, valid } = await prepareOptions(context, rules, options, path);
  if (!valid) return undefined;
  if (checkEnvironment && context.forRun)
    await context.attemptAsync(path, () => checkEnvironment(withoutNulls(options) as never));
  return {
    needsSetup: Object.values(recipes).some(({ needsSetup }) => needsSetup),
    make(setup) {
      const made = Object.fromEntries([
        ...Object.entries(recipes).map(([key, recipe]) => [key, recipe.make(setup)] as const),
        ...supplied.filter((key) => Object.hasOwn(supplies, key)).map((key) => [key, supplies[key]] as const),
      ]);
      const before = args.flatMap((name) =>
        spread && Array.isArray(made[name]) ? (made[name] as unknown[]) : [made[name]],
      );
      const rest = Object.fromEntries(Object.entries(made).filter(([key]) => !args.includes(key)));
      try {
        return make(...([...before, ...(table ? [rest] : [])] as never[]));
      } catch (error) {
        if (error instanceof ConfigError) throw error;
        throw context.at(path, error instanceof Error ? error.message : String(error), error);
      }
    },
  };
}

export interface OptionRules {
  /** Whose options they are, for messages. */
  readonly owner: string;
  readonly checks: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
}

interface PreparedOptions {
  readonly recipes: Readonly<Record<string, Recipe>>;
  /** False when there were problems, which the context has then. */
  readonly valid: boolean;
}

/** The options of a component, an experiment or a sweep: each checked at its own path, with its components prepared. */
export async function prepareOptions(
  context: BuildContext,
  rules: OptionRules,
  options: Options,
  path: ConfigPath,
): Promise<PreparedOptions> {
  const { owner, checks, required = [] } = rules;
  const recipes: Record<string, Recipe> = {};
  let valid = true;
  for (const [key, value] of Object.entries(withoutNulls(options))) {
    const at = [...path, key];
    const holds = Object.hasOwn(checks, key) ? checks[key]!.holds : undefined;
    const recipe = holds
      ? await prepareHeld(context, holds, value, at)
      : await preparePlain(context, rules, key, value, at);
    if (recipe) recipes[key] = recipe;
    else valid = false;
  }
  for (const key of required) {
    if (Object.hasOwn(withoutNulls(options), key)) continue;
    context.add(path, `${owner}: missing option \`${key}\` (${checks[key]?.expected ?? "required"}).`);
    valid = false;
  }
  return { recipes, valid };
}

/** `null` removes an option that an extended config sets: it counts as absent. */
export const withoutNulls = <T>(options: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));

/** An option that holds no components. */
async function preparePlain(
  context: BuildContext,
  { owner, checks }: OptionRules,
  key: string,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
  if (check && takesFunction(check) && typeof value === "string" && value.includes("#")) {
    const found = await exportOf(context, value, path);
    if (found === undefined) return undefined;
    if (typeof found === "function") return given(found);
    context.add(path, `${owner}: Expected ${value} to be a function, got ${show(found)}.`);
    return undefined;
  }
  const problem = context.attempt(path, () => {
    checkOptions(owner, { [key]: value }, checks);
    return "none";
  });
  if (problem === undefined) return undefined;
  const use = check?.path;
  if (use === undefined || typeof value !== "string") return given(value);
  const found = context.attempt(path, () => filePath(context, value, use, path));
  return found === undefined ? undefined : given(found);
}

/** Whether an option takes a function, and not just anything: there `./file.ts#export` means what that module exports. */
const takesFunction = ({ test }: Check): boolean => test(is.function.test) && !test(undefined);

/** An option that holds components, in any of the forms that it may be written in. */
async function prepareHeld(
  context: BuildContext,
  holds: Holds,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  if (holds.form === "each") return prepareEach(context, holds, value, path);
  const { form, kind } = holds;
  const one = (item: unknown, key: string | number): Promise<Recipe | undefined> =>
    prepareComponent(context, kind, item, [...path, key]);
  if (Array.isArray(value) && (form === "oneOrList" || form === "listOrNamed"))
    return allOf(await Promise.all(value.map((item: unknown, i) => one(item, i))), listed);
  if (isNamed(context, kind, value) && form !== "one" && form !== "oneOrList") {
    const names = Object.keys(withoutNulls(value));
    const lists: Holds = { form: "oneOrList", kind };
    const item = (name: string): Promise<Recipe | undefined> =>
      form === "oneOrNamedLists" ? prepareHeld(context, lists, value[name], [...path, name]) : one(value[name], name);
    return allOf(await Promise.all(names.map(item)), (recipes) =>
      byName(Object.fromEntries(names.map((name, i) => [name, recipes[i]!]))),
    );
  }
  if (form === "named" || form === "listOrNamed") {
    context.add(path, `Expected ${expectedOf(context.kinds, holds)}, got ${show(value)}.`);
    return undefined;
  }
  const recipe = await prepareComponent(context, kind, value, path);
  return recipe && form === "oneOrList" ? listed([recipe]) : recipe;
}

/** Whether a value is a map of components, and not one component: `{ use }` or an instance. */
const isNamed = (context: BuildContext, kind: Kind, value: unknown): value is Options =>
  isMap(value) && !Object.hasOwn(value, "use") && !kindInfo(context.kinds, kind).test(value);

/** A list of plain objects with components in them. */
async function prepareEach(
  context: BuildContext,
  holds: Extract<Holds, { form: "each" }>,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  if (!Array.isArray(value) || !value.every(isMap)) {
    context.add(path, `Expected ${expectedOf(context.kinds, holds)}, got ${show(value)}.`);
    return undefined;
  }
  const items = value.map(async (item: Options, i) => {
    const entries = Object.entries(item).map(async ([key, inner]) => {
      const held = Object.hasOwn(holds.options, key) ? holds.options[key] : undefined;
      return [key, held ? await prepareHeld(context, held, inner, [...path, i, key]) : given(inner)] as const;
    });
    const recipes = await Promise.all(entries);
    return recipes.every(([, recipe]) => recipe)
      ? byName(Object.fromEntries(recipes) as Record<string, Recipe>)
      : undefined;
  });
  return allOf(await Promise.all(items), listed);
}

/** The recipes joined, or undefined when one of them has a problem. */
function allOf(
  recipes: readonly (Recipe | undefined)[],
  join: (recipes: readonly Recipe[]) => Recipe,
): Recipe | undefined {
  return recipes.every((recipe) => recipe !== undefined) ? join(recipes) : undefined;
}
