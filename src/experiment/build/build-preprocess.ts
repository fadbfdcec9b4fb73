// The preprocessing of a config: `columns` and the target's `use` name transforms, as other options name components.
import { show } from "../../core/options.ts";
import {
  type PreprocessorOptions,
  PREPROCESSOR_CHECKS,
  TARGET_CHECKS,
  resolveOptions,
} from "../../data/preprocess/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { prepareOptions, withoutNulls, type OptionRules } from "./build-component.ts";
import { isMap, type BuildContext } from "./build-context.ts";

type Options = Readonly<Record<string, unknown>>;

const PATH = ["preprocess"];

/** Undefined where the config has none, or there are problems, which the context has then. */
export async function preprocessOf(context: BuildContext, value: unknown): Promise<PreprocessorOptions | undefined> {
  if (value === undefined) return undefined;
  if (!isMap(value)) {
    context.add(PATH, `Expected options such as { columns: auto, target: churn }, got ${show(value)}.`);
    return undefined;
  }
  const { target, ...rest } = withoutNulls(value);
  const made = await make(
    context,
    { owner: "preprocess", checks: PREPROCESSOR_CHECKS, required: ["columns"] },
    rest,
    PATH,
  );
  const aim = isMap(target)
    ? await make(context, { owner: "target", checks: TARGET_CHECKS, required: ["column"] }, target, [...PATH, "target"])
    : target === undefined
      ? {}
      : await make(context, { owner: "preprocess", checks: PREPROCESSOR_CHECKS }, { target }, PATH);
  if (!made || !aim) return undefined;
  const options = { ...made, ...(isMap(target) ? { target: aim } : aim) } as unknown as PreprocessorOptions;
  context.attempt(PATH, () => resolveOptions(options));
  return options;
}

async function make(
  context: BuildContext,
  rules: OptionRules,
  options: Options,
  path: ConfigPath,
): Promise<Options | undefined> {
  const { recipes, valid } = await prepareOptions(context, rules, options, path);
  if (!valid) return undefined;
  const entries = await Promise.all(
    Object.entries(recipes).map(async ([key, recipe]) => {
      const value = await context.attemptAsync([...path, key], () => recipe.make());
      return [key, value] as const;
    }),
  );
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}
