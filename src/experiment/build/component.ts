// One component of a config: `{ use: name, …options }`, a bare name, an export of the user's, or one that is ready made.
import type { Component } from "../../core/component.ts";
import { show, type Check, type Kind } from "../../core/options.ts";
import { didYouMean } from "../../core/names.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier } from "../config/modules.ts";
import { expectedOf, KINDS, type LoadComponents } from "../registry/kinds.ts";
import { prepareOptions, written } from "./options.ts";
import { prepareOwn } from "./own.ts";
import type { Problems } from "./problems.ts";
import { given, type Recipe } from "./recipe.ts";
import { isMap } from "./is-map.ts";

type Options = Readonly<Record<string, unknown>>;

/**
 * @param gives what the config does not say, for those that ask for it
 * @param load where the built-in ones are, for kinds that are not an experiment's
 */
export async function prepareComponent(
  problems: Problems,
  kind: Kind,
  value: unknown,
  path: ConfigPath,
  gives: Options = {},
  load: LoadComponents | undefined = KINDS[kind].load,
): Promise<Recipe | undefined> {
  const { what, test } = KINDS[kind];
  if (typeof value !== "string" && !(isMap(value) && Object.hasOwn(value, "use"))) {
    if (test(value)) return given(value);
    const missing = isMap(value) ? " It has no `use`." : "";
    problems.add(path, `Expected ${what}: its name, or { use: name } with options, got ${show(value)}.${missing}`);
    return undefined;
  }
  const { use, ...options } = typeof value === "string" ? { use: value } : (value as { use: unknown });
  // A bare name is in the place of the component itself.
  const place = typeof value === "string" ? path : [...path, "use"];
  if (typeof use !== "string") {
    problems.add(place, `Expected \`use\` to be a name or ./file.ts#Export, got ${show(use)}.`);
    return undefined;
  }
  if (isModuleSpecifier(use)) return prepareOwn(problems, kind, use, options, place);
  const components = (await load?.()) ?? {};
  if (Object.hasOwn(components, use)) return prepareBuiltin(problems, use, components[use]!, options, path, gives);
  const known = Object.keys(components);
  const noun = what.replace(/^an? /, "");
  problems.add(
    place,
    `There is no ${noun} \`${use}\`.${didYouMean(use, known)} Known: ${known.join(", ")}, or your own: ./file.ts#Export.`,
  );
  return undefined;
}

async function prepareBuiltin(
  problems: Problems,
  use: string,
  component: Component,
  options: Options,
  path: ConfigPath,
  gives: Options,
): Promise<Recipe | undefined> {
  const { make, takes, checkEnvironment } = component;
  const { args: positional = {}, spread = false, options: table, supplied = [] } = takes?.() ?? {};
  const args = Object.keys(positional);
  const { recipes, whole } = await prepareOptions(problems, { owner: use, ...rulesOf(component) }, options, path);
  if (!whole) return undefined;
  if (checkEnvironment && problems.forRun)
    await problems.attemptAsync(path, () => checkEnvironment(written(options) as never));
  return {
    needsSetup: Object.values(recipes).some(({ needsSetup }) => needsSetup),
    make(setup) {
      const made = Object.fromEntries([
        ...Object.entries(recipes).map(([key, recipe]) => [key, recipe.make(setup)] as const),
        ...supplied.filter((key) => Object.hasOwn(gives, key)).map((key) => [key, gives[key]] as const),
      ]);
      const before = args.flatMap((name) =>
        spread && Array.isArray(made[name]) ? (made[name] as unknown[]) : [made[name]],
      );
      const rest = Object.fromEntries(Object.entries(made).filter(([key]) => !args.includes(key)));
      try {
        return make(...([...before, ...(table ? [rest] : [])] as never[]));
      } catch (error) {
        if (error instanceof ConfigError) throw error;
        throw problems.at(path, error instanceof Error ? error.message : String(error), error);
      }
    },
  };
}

interface ComponentRules {
  readonly checks: Readonly<Record<string, Check>>;
  readonly required: readonly string[];
}

/** All that a config may give a component, arguments and options alike. */
export function rulesOf({ takes }: Component): ComponentRules {
  const { args = {}, options = {}, required = [], supplied = [] } = takes?.() ?? {};
  const isGiven = (name: string): boolean => !supplied.includes(name);
  return {
    checks: Object.fromEntries(
      Object.entries({ ...args, ...options })
        .filter(([name]) => isGiven(name))
        .map(([name, check]) => [name, check.holds ? { ...check, expected: expectedOf(check.holds) } : check]),
    ),
    required: [...Object.keys(args), ...required].filter(isGiven),
  };
}
