// Components of the user's own: an export of a module, called with its options, or constructed when it is a class.
import { show, type Kind } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier, loadExport } from "../config/modules.ts";
import { KINDS } from "../registry/kinds.ts";
import { callOwn } from "./call-own.ts";
import { unknownOption } from "./own-options.ts";
import type { Problems } from "./problems.ts";
import type { Recipe } from "./recipe.ts";

type Options = Readonly<Record<string, unknown>>;

/** What a module exports under the name that `use` says; undefined when it cannot be had, which is a problem then. */
export async function exportOf(problems: Problems, use: string, path: ConfigPath): Promise<unknown> {
  const { doc } = problems;
  return problems.attemptAsync(path, () => loadExport(use, { directory: doc.directoryOf(path), project: doc.project }));
}

/** Kinds that may look at the data: they are made when it is there, and get it as their second argument. */
const LOOKS_AT_DATA: ReadonlySet<Kind> = new Set<Kind>(["model", "metric"]);

export async function prepareOwn(
  problems: Problems,
  kind: Kind,
  use: string,
  options: Options,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  const { what, looks, test } = KINDS[kind];
  const found = await exportOf(problems, use, path);
  if (found === undefined) return undefined;
  if (typeof found !== "function") {
    if (!test(found)) {
      problems.add(
        path,
        `Expected ${use} to be ${what} (${looks}), or a function or class that makes one, got ${show(found)}.`,
      );
      return undefined;
    }
    if (Object.keys(options).length > 0) {
      problems.add(
        path,
        `${use} is ready made and takes no options, but has ${Object.keys(options).join(", ")}. Export a function that takes them.`,
      );
      return undefined;
    }
    return { needsSetup: false, make: () => found };
  }
  if (!takesAll(problems, found, use, options, path)) return undefined;
  // To read the data is to call it; it is not called before.
  if (kind === "data") return { needsSetup: false, make: () => () => callOwn(found, options) };

  const checked = (made: unknown): unknown => {
    if (test(made)) return made;
    throw problems.at(path, `Expected ${use} to make ${what} (${looks}), got ${show(made)}.`);
  };
  return {
    needsSetup: LOOKS_AT_DATA.has(kind),
    make(setup) {
      let made: unknown;
      try {
        made = setup === undefined ? callOwn(found, options) : callOwn(found, options, setup);
      } catch (error) {
        throw problems.at(path, `${use} failed: ${error instanceof Error ? error.message : String(error)}`, error);
      }
      return made instanceof Promise ? made.then(checked) : checked(made);
    },
  };
}

/** @param path of `use`, beside the options */
function takesAll(problems: Problems, found: unknown, use: string, options: Options, path: ConfigPath): boolean {
  const unknown = unknownOption(found, use, options);
  if (unknown) problems.add([...path.slice(0, -1), unknown.option], unknown.message);
  return !unknown;
}

/**
 * An option of an experiment that is a function by itself, such as `evaluate`: called with its options and what the
 * experiment gives it. In a TypeScript config it may be the function itself.
 */
export async function prepareFunction(
  problems: Problems,
  value: unknown,
  path: ConfigPath,
): Promise<((...given: readonly unknown[]) => unknown) | undefined> {
  const { use, ...options } = typeof value === "string" ? { use: value } : { ...(value as { use?: unknown } | null) };
  if (typeof use !== "string" || !isModuleSpecifier(use)) {
    problems.add(
      path,
      `Expected ./file.ts#export, or { use: ./file.ts#export } with options, got ${show(use ?? value)}.`,
    );
    return undefined;
  }
  const found = await exportOf(problems, use, path);
  if (found === undefined) return undefined;
  if (typeof found === "function") {
    if (!takesAll(problems, found, use, options, [...path, "use"])) return undefined;
    return (...given) => callOwn(found, options, ...given);
  }
  problems.add(path, `Expected ${use} to be a function, got ${show(found)}.`);
  return undefined;
}
