// Own components of a config: the export of a user's module, or of a package.
import { didYouMean } from "../../core/names.ts";
import { builtin } from "../../platform/builtin.ts";
import { importModule } from "../../platform/import-module.ts";
import { jitiFor } from "../../platform/jiti.ts";
import { failWithoutPlace, type Fail } from "./fail.ts";
import { didYouMeanFile } from "./nearest-file.ts";
import { checkOneCopy } from "./one-copy.ts";
import { insideProject } from "./project.ts";
import { parseSpecifier } from "./specifier.ts";

export { isModuleSpecifier } from "./specifier.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Url = ReturnType<typeof process.getBuiltinModule<"node:url">>;

/** What holds a program. Others may be imported by one. */
export const MODULE_EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];

interface From {
  /** Of the config that names the module: `doc.directoryOf(path)`. */
  readonly directory: string;
  readonly project: string;
  /** Makes the error, at its place in the config. */
  readonly fail?: Fail;
}

/** The export that `./file.ts#Export` or `package#Export` names. Of a path without `#` it is the default export. */
export async function loadExport(
  specifier: string,
  { directory, project, fail = failWithoutPlace }: From,
): Promise<unknown> {
  const { kind, module, name } = parseSpecifier(specifier, fail);
  const file = kind === "file" ? fileOf(module, directory, project, fail) : await packageFile(module, directory, fail);
  checkOneCopy(builtin<Paths>("A config", "node:path").dirname(file), fail);
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
  const { existsSync, readdirSync, statSync } = builtin<Fs>("A config", "node:fs");
  const { basename, dirname, extname } = builtin<Paths>("A config", "node:path");
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
  const { existsSync } = builtin<Fs>("A config", "node:fs");
  const { join } = builtin<Paths>("A config", "node:path");
  const { fileURLToPath } = builtin<Url>("A config", "node:url");
  const jiti = await jitiFor(join(directory, "config.js"));
  try {
    return fileURLToPath(jiti.esmResolve(name));
  } catch (cause) {
    const hint = existsSync(join(directory, name)) ? ` If the file is meant, write ./${name}` : " Is it installed?";
    throw fail(`There is no package ${name} in ${directory} or above.${hint}`, cause);
  }
}
