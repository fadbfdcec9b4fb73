// Finds misspelt options of the user's own functions and classes. They declare no table of options, but where the first
// parameter is a destructuring pattern, `function network({ width, layers })`, the source names all that they take.
import { didYouMean } from "../../core/names.ts";

type Options = Readonly<Record<string, unknown>>;

interface UnknownOption {
  readonly option: string;
  readonly message: string;
}

/** The first option that a function or class ignores; undefined where that cannot be known. */
export function unknownOption(from: unknown, use: string, options: Options): UnknownOption | undefined {
  // `null` takes back what an extended config says.
  const given = Object.keys(options).filter((key) => options[key] !== null);
  const known = given.length === 0 ? undefined : optionNames(from);
  const option = known && given.find((key) => !known.includes(key));
  if (option === undefined) return undefined;
  const takes = known!.length === 0 ? "It takes none." : `It takes: ${known!.join(", ")}.`;
  return { option, message: `${use}: unknown option \`${option}\`.${didYouMean(option, known!)} ${takes}` };
}

/** Names that the first parameter takes apart. Undefined for everything but a plain pattern without a rest. */
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

/** The source from behind the first parenthesis of the parameters. */
function parametersOf(source: string): string | undefined {
  if (!/^class\b/.test(source)) {
    const match = FUNCTION.exec(source);
    return match ? source.slice(match[0].length) : undefined;
  }
  // A class within the class may be the one that the constructor belongs to.
  const constructors = [...source.matchAll(/(?<!\.)\bconstructor\s*\(/g)];
  if (constructors.length !== 1 || source.match(/\bclass\b/g)!.length !== 1) return undefined;
  return source.slice(constructors[0]!.index + constructors[0]![0].length);
}

const TOKEN = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|[^]/gy;
const CLOSING = ["}", ")", "]"];

/** The entries of a pattern, from behind its brace; undefined when a default is too much for this reader. */
function entriesOf(source: string): readonly string[] | undefined {
  const entries = [""];
  let depth = 0;
  for (const [token] of source.matchAll(TOKEN)) {
    // Where a regular expression or a template ends cannot be told without a parser.
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
