// Components that the user exports from a module: a function is called with its options, a class constructed with them.
import { show, type Kind } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier, loadExport } from "../config/modules.ts";
import type { BuildContext, Recipe } from "./build-context.ts";
import { callExport, unknownOption } from "./call-export.ts";
import { kindInfo } from "./kinds.ts";

type Options = Readonly<Record<string, unknown>>;
type Factory = (...args: readonly unknown[]) => unknown;

/** What a module exports under the name in `use`. Undefined when it cannot be loaded, which is then a problem. */
export async function exportOf(context: BuildContext, use: string, path: ConfigPath): Promise<unknown> {
  const { doc } = context;
  return context.attemptAsync(path, () => loadExport(use, { directory: doc.directoryOf(path), project: doc.project }));
}

/** Kinds that may look at the data: they are made after it has been read, and get it as their second argument. */
const LOOKS_AT_DATA: ReadonlySet<Kind> = new Set<Kind>(["model", "metric"]);

export async function prepareUserExport(
  context: BuildContext,
  kind: Kind,
  use: string,
  options: Options,
  path: ConfigPath,
): Promise<Recipe | undefined> {
  const { what, looks, test } = kindInfo(context.kinds, kind);
  const found = await exportOf(context, use, path);
  if (found === undefined) return undefined;
  if (typeof found !== "function") {
    if (!test(found)) {
      context.add(
        path,
        `Expected ${use} to be ${what} (${looks}), or a function or class that makes one, got ${show(found)}.`,
      );
      return undefined;
    }
    if (Object.keys(options).length > 0) {
      context.add(
        path,
        `${use} is ready made and takes no options, but has ${Object.keys(options).join(", ")}. Export a function that takes them.`,
      );
      return undefined;
    }
    return { needsSetup: false, make: () => found };
  }
  if (!takesAll(context, found, use, options, path)) return undefined;
  const fail = (error: unknown): never => {
    throw context.at(path, `${use} failed: ${error instanceof Error ? error.message : String(error)}`, error);
  };
  const call = (...more: readonly unknown[]): unknown => {
    try {
      const made = callExport(found, options, ...more);
      return made instanceof Promise ? made.catch(fail) : made;
    } catch (error) {
      return fail(error);
    }
  };
  // Calling a source reads the data, which happens when the experiment runs. An error there keeps its own stack.
  if (kind === "data") return { needsSetup: false, make: () => () => callExport(found, options) };

  const checked = (made: unknown): unknown => {
    if (test(made)) return made;
    throw context.at(path, `Expected ${use} to make ${what} (${looks}), got ${show(made)}.`);
  };
  return {
    needsSetup: LOOKS_AT_DATA.has(kind),
    make(setup) {
      const made = setup === undefined ? call() : call(setup);
      return made instanceof Promise ? made.then(checked) : checked(made);
    },
  };
}

/** @param path of `use`, which stands beside the options */
function takesAll(context: BuildContext, found: unknown, use: string, options: Options, path: ConfigPath): boolean {
  const unknown = unknownOption(found, use, options);
  if (unknown) context.add([...path.slice(0, -1), unknown.option], unknown.message);
  return !unknown;
}

/**
 * An option of an experiment that is itself a function, such as `evaluate`: called with its options and what the
 * experiment gives it. In a TypeScript config it may be the function itself.
 */
export async function prepareFunction(
  context: BuildContext,
  value: unknown,
  path: ConfigPath,
): Promise<Factory | undefined> {
  const { use, ...options } = typeof value === "string" ? { use: value } : { ...(value as { use?: unknown } | null) };
  if (typeof use !== "string" || !isModuleSpecifier(use)) {
    context.add(
      path,
      `Expected ./file.ts#export, or { use: ./file.ts#export } with options, got ${show(use ?? value)}.`,
    );
    return undefined;
  }
  const found = await exportOf(context, use, path);
  if (found === undefined) return undefined;
  if (typeof found === "function") {
    if (!takesAll(context, found, use, options, [...path, "use"])) return undefined;
    return (...given) => callExport(found, options, ...given);
  }
  context.add(path, `Expected ${use} to be a function, got ${show(found)}.`);
  return undefined;
}
