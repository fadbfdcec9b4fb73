// One component of a config: `{ use: name, …options }`, a bare name, an export of the user's, or one that is ready made.
import { is, optionTable, show, type Check, type OptionTable } from "../../core/options.ts";
import { didYouMean } from "../../core/suggest.ts";
import { ConfigError, type ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier } from "../config/modules.ts";
import type { Component, Kind, Part } from "../registry/component.ts";
import { expectedOf, KINDS } from "../registry/kinds.ts";
import { prepareOptions, written } from "./options.ts";
import { prepareOwn } from "./own.ts";
import type { Problems } from "./problems.ts";
import { given, type Recipe } from "./recipe.ts";
import { isMap } from "./is-map.ts";

type Options = Readonly<Record<string, unknown>>;

/** @param gives what the config does not say, for those that ask for it */
export async function prepareComponent(
  problems: Problems,
  kind: Kind,
  value: unknown,
  path: ConfigPath,
  gives: Options = {},
): Promise<Recipe | undefined> {
  const { what, test, load } = KINDS[kind];
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
  const components = await load();
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
  const { make, args = [], spread = false, parts = {}, files = {}, given: asked = [], checkAround } = component;
  const { checks, required, takesOptions } = rulesOf(component);
  const { recipes, whole } = await prepareOptions(
    problems,
    { owner: use, checks, required, parts, files },
    options,
    path,
  );
  if (!whole) return undefined;
  if (checkAround && problems.forRun) await problems.attemptAsync(path, () => checkAround(written(options) as never));
  return {
    needsSetup: Object.values(recipes).some(({ needsSetup }) => needsSetup),
    make(setup) {
      const made = Object.fromEntries([
        ...Object.entries(recipes).map(([key, recipe]) => [key, recipe.make(setup)] as const),
        ...asked.filter((key) => Object.hasOwn(gives, key)).map((key) => [key, gives[key]] as const),
      ]);
      const before = args.flatMap((name) =>
        spread && Array.isArray(made[name]) ? (made[name] as unknown[]) : [made[name]],
      );
      const rest = Object.fromEntries(Object.entries(made).filter(([key]) => !args.includes(key)));
      try {
        return make(...([...before, ...(takesOptions ? [rest] : [])] as never[]));
      } catch (error) {
        if (error instanceof ConfigError) throw error;
        throw problems.at(path, error instanceof Error ? error.message : String(error), error);
      }
    },
  };
}

/** What is a component is checked when it is prepared. */
const partCheck = (part: Part): Check => ({ expected: expectedOf(part), test: () => true });

interface ComponentRules extends Pick<OptionTable, "checks" | "required"> {
  readonly takesOptions: boolean;
}

/** All that a component may be given in a config, arguments and options alike, by the name that it has there. */
export function rulesOf({ make, args = [], spread = false, parts = {}, given: gives = [] }: Component): ComponentRules {
  // One that takes any number of arguments has no options behind them.
  const table = spread ? { checks: {}, required: [], positional: [] } : optionTable(make, args.length);
  const positional = args.map((name, i): [string, Check] => [name, table.positional[i] ?? is.anything]);
  const made = Object.entries(parts).map(([name, part]): [string, Check] => [name, partCheck(part)]);
  const all = [...positional, ...Object.entries(table.checks), ...made];
  return {
    checks: Object.fromEntries(all.filter(([name]) => !gives.includes(name))),
    required: [...args, ...table.required].filter((name) => !gives.includes(name)),
    takesOptions: Object.keys(table.checks).length > 0,
  };
}
