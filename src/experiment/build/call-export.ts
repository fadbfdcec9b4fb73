// Calls what a user's module exports with the options of a config, and finds options that it would ignore.
import { didYouMean } from "../../core/names.ts";

type Options = Readonly<Record<string, unknown>>;
type Factory = (...args: readonly unknown[]) => unknown;
type Class = new (options: Options) => unknown;

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
