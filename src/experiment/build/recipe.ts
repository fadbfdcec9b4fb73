// A component that has been checked and can be made.
import type { Setup } from "../types.ts";

export interface Recipe {
  /** Holds something of the user's that may look at the data: it is made when that has been read. */
  readonly needsSetup: boolean;
  /** Throws a ConfigError at the component's place. */
  make(setup?: Setup): unknown;
}

export const given = (value: unknown): Recipe => ({ needsSetup: false, make: () => value });

/** Several as one: a list, or a map by name. */
export function listed(recipes: readonly Recipe[]): Recipe {
  return {
    needsSetup: recipes.some(({ needsSetup }) => needsSetup),
    make: (setup) => recipes.map((recipe) => recipe.make(setup)),
  };
}

export function byName(recipes: Readonly<Record<string, Recipe>>): Recipe {
  const entries = Object.entries(recipes);
  return {
    needsSetup: entries.some(([, { needsSetup }]) => needsSetup),
    make: (setup) => Object.fromEntries(entries.map(([name, recipe]) => [name, recipe.make(setup)])),
  };
}
