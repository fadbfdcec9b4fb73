// Options that hold components, in each of the forms that they may be written in.
import { show, type Holds, type Kind } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { expectedOf, KINDS } from "../registry/kinds.ts";
import { prepareComponent } from "./component.ts";
import type { Problems } from "./problems.ts";
import { byName, given, listed, type Recipe } from "./recipe.ts";
import { isMap } from "./is-map.ts";

type Map = Readonly<Record<string, unknown>>;

/** A map of components, and not one: written `{ use }`, or ready made. */
const isNamed = (kind: Kind, value: unknown): value is Map =>
  isMap(value) && !Object.hasOwn(value, "use") && !KINDS[kind].test(value);

export async function preparePart(
  problems: Problems,
  part: Holds,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  if (part.form === "each") return prepareEach(problems, part, value, path);
  const { form, kind } = part;
  const one = (item: unknown, key: string | number): Promise<Recipe | undefined> =>
    prepareComponent(problems, kind, item, [...path, key]);
  if (Array.isArray(value) && (form === "oneOrList" || form === "listOrNamed"))
    return whole(await Promise.all(value.map((item: unknown, i) => one(item, i))), listed);
  if (isNamed(kind, value) && form !== "one" && form !== "oneOrList") {
    const names = Object.keys(value);
    return whole(await Promise.all(names.map((name) => one(value[name], name))), (recipes) =>
      byName(Object.fromEntries(names.map((name, i) => [name, recipes[i]!]))),
    );
  }
  if (form === "named" || form === "listOrNamed") {
    problems.add(path, `Expected ${expectedOf(part)}, got ${show(value)}.`);
    return undefined;
  }
  const recipe = await prepareComponent(problems, kind, value, path);
  return recipe && form === "oneOrList" ? listed([recipe]) : recipe;
}

/** A list of plain objects, each with components in it. */
async function prepareEach(
  problems: Problems,
  part: Extract<Holds, { form: "each" }>,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  if (!Array.isArray(value) || !value.every(isMap)) {
    problems.add(path, `Expected ${expectedOf(part)}, got ${show(value)}.`);
    return undefined;
  }
  const items = value.map(async (item: Map, i) => {
    const entries = Object.entries(item).map(async ([key, inner]) => {
      const held = Object.hasOwn(part.options, key) ? part.options[key] : undefined;
      return [key, held ? await preparePart(problems, held, inner, [...path, i, key]) : given(inner)] as const;
    });
    const recipes = await Promise.all(entries);
    return recipes.every(([, recipe]) => recipe)
      ? byName(Object.fromEntries(recipes) as Record<string, Recipe>)
      : undefined;
  });
  return whole(await Promise.all(items), listed);
}

/** Joined when all of them are there. */
function whole(
  recipes: readonly (Recipe | undefined)[],
  join: (recipes: readonly Recipe[]) => Recipe,
): Recipe | undefined {
  return recipes.every((recipe) => recipe !== undefined) ? join(recipes) : undefined;
}
