// The options of one component or plan: each checked at its own place, with components, functions and files in it found.
import { checkOptions, is, show, type Check } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { exportOf } from "./own.ts";
import { filePath } from "./paths.ts";
import { preparePart } from "./parts.ts";
import type { Problems } from "./problems.ts";
import { given, type Recipe } from "./recipe.ts";

export interface OptionRules {
  /** Whose options they are, for messages. */
  readonly owner: string;
  readonly checks: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
}

interface PreparedOptions {
  readonly recipes: Readonly<Record<string, Recipe>>;
  /** Without problems. Those that there are have been told. */
  readonly whole: boolean;
}

/** Each option as something that can be made. */
export async function prepareOptions(
  problems: Problems,
  rules: OptionRules,
  options: Readonly<Record<string, unknown>>,
  path: ConfigPath,
): Promise<PreparedOptions> {
  const { owner, checks, required = [] } = rules;
  const recipes: Record<string, Recipe> = {};
  let whole = true;
  for (const [key, value] of Object.entries(written(options))) {
    const at = [...path, key];
    const holds = Object.hasOwn(checks, key) ? checks[key]!.holds : undefined;
    const recipe = holds
      ? await preparePart(problems, holds, value, at)
      : await plain(problems, { owner, checks, key }, value, at);
    if (recipe) recipes[key] = recipe;
    else whole = false;
  }
  for (const key of required) {
    if (Object.hasOwn(written(options), key)) continue;
    problems.add(path, `${owner}: missing option \`${key}\` (${checks[key]?.expected ?? "required"}).`);
    whole = false;
  }
  return { recipes, whole };
}

/** `null` takes back what an extended config says: the option is as if it were not there. */
export const written = <T>(options: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));

interface PlainOption {
  readonly owner: string;
  readonly checks: Readonly<Record<string, Check>>;
  readonly key: string;
}

async function plain(
  problems: Problems,
  { owner, checks, key }: PlainOption,
  value: unknown,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
  if (check && takesFunction(check) && typeof value === "string" && value.includes("#")) {
    const found = await exportOf(problems, value, path);
    if (found === undefined) return undefined;
    if (typeof found === "function") return given(found);
    problems.add(path, `${owner}: Expected ${value} to be a function, got ${show(found)}.`);
    return undefined;
  }
  const problem = problems.attempt(path, () => {
    checkOptions(owner, { [key]: value }, checks);
    return "none";
  });
  if (problem === undefined) return undefined;
  const use = check?.path;
  if (use === undefined || typeof value !== "string") return given(value);
  const found = problems.attempt(path, () => filePath(problems, value, use, path));
  return found === undefined ? undefined : given(found);
}

/** Takes a function, and not just anything: there a text such as `./file.ts#export` means what that module exports. */
const takesFunction = ({ test }: Check): boolean => test(is.function.test) && !test(undefined);
