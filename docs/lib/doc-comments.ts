// What the comments in the sources say of factories and their options: written once, shown in editors and docs as well.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const sourceFiles = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => join("src", file));

/** What a comment says, on one line, without its examples. */
const textOf = (comment: string | undefined): string =>
  (comment ?? "")
    .replaceAll(/^\s*\* ?/gm, "")
    .replace(/^\s*@[^]*$/m, "")
    .replaceAll(/\s+/g, " ")
    .trim();

/** Comments of the options of an interface, with those of what it extends. */
export function optionDocs(file: string, name: string): Readonly<Record<string, string>> {
  const source = read(file);
  const declared = new RegExp(
    `^export interface ${name}\\b(?:<[^{]*?>)?(?: extends ([^{]*))? \\{\\n([^]*?)^\\}`,
    "m",
  ).exec(source);
  if (!declared) return importedDocs(file, source, name);
  const [, bases = "", body = ""] = declared;
  const inherited = [...bases.replaceAll(/"[^"]*"/g, "").matchAll(/\b[A-Z]\w+/g)]
    .map(([base]) => base)
    .filter((base) => !["Partial", "Pick", "Omit", "Readonly"].includes(base));
  const own = [...body.matchAll(/(?:^ {2}\/\*\*([^]*?)\*\/\n)?^ {2}(?:readonly )?(\w+)\??:/gm)];
  return {
    ...Object.assign({}, ...inherited.map((base) => optionDocs(file, base))),
    // One that is declared again, for its type, keeps what was said of it.
    ...Object.fromEntries(
      own.filter(([, comment]) => comment).map(([, comment, option]) => [option!, textOf(comment)]),
    ),
  };
}

/** The interface is declared where the file imports it from; one that is nowhere has no comments. */
function importedDocs(file: string, source: string, name: string): Readonly<Record<string, string>> {
  const imports = source.matchAll(/^import (?:type )?\{([^}]*)\} from "(\.[^"]+)"/gm);
  for (const [, names, from] of imports)
    if (new RegExp(`\\b${name}\\b`).test(names!)) return optionDocs(join(dirname(file), from!), name);
  return {};
}

export interface FactoryDocs {
  /** The first line of its file: what it is for. Said of the file, so it fits where that has one factory. */
  readonly purpose: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, string>>;
}

/** What the sources say of a component, found by the description at its definition. */
export function componentDocs(kind: string, name: string): FactoryDocs {
  const description = new RegExp(
    `(?:^/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n)?^export const \\w+ = /\\* @__PURE__ \\*/ component\\(\\s*\\{\\s*kind: "${kind}",\\s*name: "${name}"`,
    "m",
  );
  for (const file of sourceFiles) {
    const source = read(file);
    const found = description.exec(source);
    if (!found) continue;
    // The first parameter of this name after the description is the factory's.
    const options = /\boptions\??: (\w+Options)\b/.exec(source.slice(found.index + found[0].length))?.[1];
    const docs = options === undefined ? {} : optionDocs(file, options);
    return { purpose: purposeOf(source, name), summary: textOf(found[1]), options: docs };
  }
  throw new Error(`No file in src describes a ${kind} named ${name}.`);
}

/** Without the name, which stands beside it wherever it is shown. */
function purposeOf(source: string, name: string): string {
  const line = source.slice("// ".length, source.indexOf("\n"));
  const text = line.startsWith(`${name}: `) ? line.slice(`${name}: `.length) : line;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
