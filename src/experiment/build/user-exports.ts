// Components that the user exports from a module: a function is called with its options, a class constructed with them.
import { didYouMean } from "../../core/names.ts";
import { show, type Kind } from "../../core/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { isModuleSpecifier, loadExport } from "../config/modules.ts";
import type { BuildContext, Recipe } from "./build-context.ts";
import { kindInfo } from "./kinds.ts";

type Options = Readonly<Record<string, unknown>>;
type Factory = (...args: readonly unknown[]) => unknown;
type Class = new (options: Options) => unknown;

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
  // Calling a source reads the data, which happens when the experiment runs.
  if (kind === "data") return { needsSetup: false, make: () => () => call() };

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

const isClass = (value: Factory): boolean => /^class\b/.test(Function.prototype.toString.call(value));

/** Calls a function with its options and what else it is given; constructs a class with its options. */
export function callExport(found: unknown, options: Options, ...more: readonly unknown[]): unknown {
  const make = found as Factory;
  return isClass(make) ? new (make as unknown as Class)(options) : make(options, ...more);
}

interface UnknownOption {
  readonly option: string;
  readonly message: string;
}

/**
 * The first option that a user's function or class would ignore; undefined where that cannot be known. It declares no table of
 * options, but if its first parameter is a destructuring pattern, `function network({ width, layers })`, the source names them.
 */
export function unknownOption(from: unknown, use: string, options: Options): UnknownOption | undefined {
  // `null` removes an option that an extended config sets.
  const given = Object.keys(options).filter((key) => options[key] !== null);
  const known = given.length === 0 ? undefined : optionNames(from);
  const option = known && given.find((key) => !known.includes(key));
  if (option === undefined) return undefined;
  const takes = known!.length === 0 ? "It takes none." : `It takes: ${known!.join(", ")}.`;
  return { option, message: `${use}: unknown option \`${option}\`.${didYouMean(option, known!)} ${takes}` };
}

/** Names that the first parameter destructures. Undefined for anything but a plain pattern without a rest. */
export function optionNames(from: unknown): readonly string[] | undefined {
  const source = Function.prototype.toString.call(from);
  if (/\barguments\b|\[native code\]/.test(source)) return undefined;
  const parameters = parametersOf(source);
  if (parameters === undefined) return undefined;
  if (/^\s*\)/.test(parameters)) return [];
  const entries = /^\s*\{/.test(parameters) ? entriesOf(parameters.slice(parameters.indexOf("{") + 1)) : undefined;
  const names = entries?.map((entry) => NAME.exec(entry)?.slice(1).find(Boolean));
  return names?.every((name) => name !== undefined) ? names : undefined;
}

/** A key of a pattern, with a new name, a default or neither. A rest and computed keys do not match. */
const NAME = /^(?:([\p{ID_Start}$_][\p{ID_Continue}$]*)|"([^"\\]*)"|'([^'\\]*)')\s*(?:[:=]|$)/u;

const FUNCTION = /^(?:async\s+)?(?:function\b\s*\*?\s*)?[\w$]*\s*\(/;

/** The source after the opening parenthesis of the parameters. */
function parametersOf(source: string): string | undefined {
  if (!/^class\b/.test(source)) {
    const match = FUNCTION.exec(source);
    return match ? source.slice(match[0].length) : undefined;
  }
  // The constructor may belong to a class inside this class.
  const constructors = [...source.matchAll(/(?<!\.)\bconstructor\s*\(/g)];
  if (constructors.length !== 1 || source.match(/\bclass\b/g)!.length !== 1) return undefined;
  return source.slice(constructors[0]!.index + constructors[0]![0].length);
}

const TOKEN = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|[^]/gy;
const CLOSING = ["}", ")", "]"];

/** The entries of a pattern, after its opening brace; undefined when a default is too complex for this reader. */
function entriesOf(source: string): readonly string[] | undefined {
  const entries = [""];
  let depth = 0;
  for (const [token] of source.matchAll(TOKEN)) {
    // Finding the end of a regular expression or a template takes a parser.
    if (token === "/" || token === "`") return undefined;
    if (depth === 0 && token === "}") return entries.map((entry) => entry.trim()).filter((entry) => entry !== "");
    if (token.startsWith("/")) continue;
    if (["{", "(", "["].includes(token)) depth++;
    if (CLOSING.includes(token)) depth--;
    if (depth === 0 && token === ",") entries.push("");
    else entries.push(entries.pop()! + token);
  }
  return undefined;
}
