// A config file by its extension. A parser is loaded when a file of its format is read.
import { builtin } from "../../platform/builtin.ts";
import type { Fail } from "./fail.ts";
import { readSource } from "./source.ts";
import type { ConfigNode, Source } from "./tree.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

type Parse = (source: Source) => ConfigNode | Promise<ConfigNode>;

const yaml = async (): Promise<Parse> => (await import("./parse-yaml.ts")).parseYaml;

const PARSERS: Readonly<Record<string, () => Promise<Parse>>> = {
  ".yaml": yaml,
  ".yml": yaml,
  ".json": async () => (await import("./parse-json.ts")).parseJson,
  ".toml": async () => (await import("./parse-toml.ts")).parseToml,
};

/** @param path absolute; `shown` is how messages call it */
export async function parseFile(path: string, shown: string, project: string, fail: Fail): Promise<ConfigNode> {
  const { basename, extname } = builtin<Paths>("A config", "node:path");
  const extension = extname(basename(path)).toLowerCase();
  if (Object.hasOwn(PARSERS, extension)) {
    const source = await readSource(path, shown, fail);
    return (await PARSERS[extension]!())(source);
  }
  const { MODULE_EXTENSIONS } = await import("./modules.ts");
  if (!MODULE_EXTENSIONS.includes(extension)) {
    const known = [...Object.keys(PARSERS), ...MODULE_EXTENSIONS].join(", ");
    throw fail(`${shown}: a config ends in ${known}; this one ${extension ? `in ${extension}` : "has no extension"}.`);
  }
  return parseModule(path, shown, project, fail);
}

async function parseModule(path: string, shown: string, project: string, fail: Fail): Promise<ConfigNode> {
  const { importModule } = await import("../../platform/import-module.ts");
  const { checkOneCopy } = await import("./one-copy.ts");
  const { fromModule } = await import("./from-module.ts");
  // Whether it is there, and a file, and not the 10 MB that were meant to be data.
  const { directory } = await readSource(path, shown, fail);
  checkOneCopy(directory, fail);
  const exports = await importModule(path, shown, project, fail);
  if (!Object.hasOwn(exports, "default"))
    throw fail(`${shown} has no default export. Write \`export default { … }\`, or a function that returns it.`);
  return fromModule(exports.default, shown, directory);
}
