// Loads what a config names as `./file.ts#Export` or `package#Export`: exports of the user's modules and of packages.
import { didYouMean } from "../../core/names.ts";
import { builtin } from "../../platform/builtin.ts";
import { importModule, jitiFor } from "../../platform/import-module.ts";
import { type Fail, failWithoutPlace } from "./config-error.ts";
import { didYouMeanFile, insideProject } from "./project.ts";
import { isForbidden } from "./config-tree.ts";

/** File extensions of modules. */
export const MODULE_EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];

interface From {
  /** Of the config that names the module: `doc.directoryOf(path)`. */
  readonly directory: string;
  readonly project: string;
  /** Makes the error with its position in the config. */
  readonly fail?: Fail;
}

/** The export that `./file.ts#Export` or `package#Export` names. Of a path without `#` it is the default export. */
export async function loadExport(
  specifier: string,
  { directory, project, fail = failWithoutPlace }: From,
): Promise<unknown> {
  const { kind, module, name } = parseSpecifier(specifier, fail);
  const file = kind === "file" ? fileOf(module, directory, project, fail) : await packageFile(module, directory, fail);
  checkOneCopy(builtin("A config", "node:path").dirname(file), fail);
  const exports = await importModule(file, module, project, fail);
  if (Object.hasOwn(exports, name)) return exports[name];
  const known = Object.keys(exports);
  const has = known.length > 0 ? `It exports: ${known.join(", ")}.` : "It exports nothing.";
  throw fail(
    name === "default"
      ? `${module} has no default export. ${has} Say which one: ${module}#Name`
      : `${module} has no export \`${name}\`.${didYouMean(name, known)} ${has}`,
  );
}

function fileOf(module: string, directory: string, project: string, fail: Fail): string {
  const { existsSync, readdirSync, statSync } = builtin("A config", "node:fs");
  const { basename, dirname, extname } = builtin("A config", "node:path");
  const file = insideProject(project, module, { from: directory, fail });
  if (!existsSync(file)) {
    const names = existsSync(dirname(file)) ? readdirSync(dirname(file)) : [];
    throw fail(`There is no file ${module} in ${directory}.${didYouMeanFile(basename(file), names)}`);
  }
  if (!statSync(file).isFile() || !MODULE_EXTENSIONS.includes(extname(file)))
    throw fail(`${module} is no module. A module's file ends in ${MODULE_EXTENSIONS.join(", ")}.`);
  return file;
}

async function packageFile(name: string, directory: string, fail: Fail): Promise<string> {
  const { existsSync } = builtin("A config", "node:fs");
  const { join } = builtin("A config", "node:path");
  const { fileURLToPath } = builtin("A config", "node:url");
  const jiti = await jitiFor(join(directory, "config.js"));
  try {
    return fileURLToPath(jiti.esmResolve(name));
  } catch (cause) {
    const hint = existsSync(join(directory, name)) ? ` If the file is meant, write ./${name}` : " Is it installed?";
    throw fail(`There is no package ${name} in ${directory} or above.${hint}`, cause);
  }
}

export interface Specifier {
  readonly kind: "file" | "package";
  /** `./file.ts`, or `package`, or `package/part`. */
  readonly module: string;
  /** The name of the export; `default` for a path without one. */
  readonly name: string;
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(?:\/[\w~-][\w.~-]*)*$/i;

/** Whether a `use` names a user export: the names of built-in components are plain words. */
export const isModuleSpecifier = (use: string): boolean => /[#/\\:%\0]|^\./.test(use);

/** Rejects everything else that Node could import. */
export function parseSpecifier(text: string, fail: Fail): Specifier {
  const refuse = (why: string): never => {
    throw fail(`Expected \`./file.ts#Export\` or \`package#Export\`, got ${JSON.stringify(text)}: ${why}.`);
  };
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  if (/[\0-\x1f\x7f]/.test(text)) refuse("it has a control character");
  if (text.includes("\\")) refuse("write / for \\");
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) refuse("URLs and modules of Node's own are not loaded from a config");
  if (/^[/~]/.test(text)) refuse("a path begins with ./, relative to the config");
  if (/%[0-9a-f]{2}/i.test(text)) refuse("it has an escape of URLs; write the character itself");
  if (/[?*]/.test(text)) refuse("`?` and `*` mean nothing here");
  const [module = "", name, ...more] = text.split("#");
  if (more.length > 0) refuse("it has more than one #");
  if (name !== undefined && !IDENTIFIER.test(name)) refuse("an export's name comes after the #");
  if (name !== undefined && isForbidden(name)) refuse(`\`${name}\` is no export`);
  if (/^\.{1,2}\//.test(module)) return { kind: "file", module, name: name ?? "default" };
  if (!PACKAGE.test(module)) refuse("it is neither a path that begins with ./ nor the name of a package");
  if (builtin("A config", "node:module").isBuiltin(module))
    refuse("modules of Node's own are not loaded from a config");
  if (name === undefined) refuse(`say which export of the package: ${module}#default, or its name`);
  return { kind: "package", module, name: name! };
}

const ONCE = ["hookline", "@jax-js/jax"];

interface Found {
  readonly directory: string;
  readonly version: string;
}

/**
 * Rejects a module that would import another copy of hookline than the one that runs: its classes, events and engine would be
 * different ones, with errors that are hard to understand.
 */
export function checkOneCopy(directory: string, fail: Fail): void {
  // When hookline runs from its sources, the TypeScript loader resolves `hookline`.
  if (import.meta.url.endsWith(".ts")) return;
  const { dirname } = builtin("A config", "node:path");
  const here = dirname(builtin("A config", "node:url").fileURLToPath(import.meta.url));
  for (const name of ONCE) {
    const [theirs, ours] = [find(name, directory), find(name, here)];
    // The module may import neither; only its own imports would tell.
    if (!theirs || !ours || theirs.directory === ours.directory) continue;
    const advice =
      name === "hookline"
        ? "Run the project's own with `npx hookline`"
        : `Install ${name}@${ours.version} there, the version that hookline needs`;
    throw fail(
      `${directory} would import another copy of ${name} (${theirs.directory}, ${theirs.version}) than the one that runs (${ours.directory}, ${ours.version}). ${advice}.`,
    );
  }
}

/** The package that `name` means in a directory, as Node looks for it: the package around it, or one in node_modules. */
function find(name: string, from: string): Found | undefined {
  const { dirname, join } = builtin("A config", "node:path");
  for (let here = from; ; here = dirname(here)) {
    const found = packageIn(here, name) ?? packageIn(join(here, "node_modules", name), name);
    if (found || dirname(here) === here) return found;
  }
}

function packageIn(directory: string, name: string): Found | undefined {
  const { existsSync, readFileSync, realpathSync } = builtin("A config", "node:fs");
  const file = builtin("A config", "node:path").join(directory, "package.json");
  if (!existsSync(file)) return undefined;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
  return manifest.name === name ? { directory: realpathSync(directory), version: manifest.version ?? "?" } : undefined;
}
