// Files that a config names. What is read is relative to the config and lies in the project; what is written is relative
// to the project, and outside of it only where an absolute path says so outright.
import { OptionError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { insideProject } from "../config/project.ts";
import type { Problems } from "./problems.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Process = ReturnType<typeof process.getBuiltinModule<"node:process">>;

export function filePath({ doc }: Problems, file: string, use: "read" | "write", path: ConfigPath): string {
  const { isAbsolute, relative } = builtin<Path>("A config", "node:path");
  if (use === "write" && isAbsolute(file)) return file;
  const from = use === "read" ? doc.directoryOf(path) : doc.project;
  const found = insideProject(doc.project, file, { from });
  // Found out now, and not when the data is read.
  if (use === "read" && !builtin<Fs>("A config", "node:fs").existsSync(found))
    throw new OptionError(`There is no file ${file} in ${from}.`);
  // As short as it was written, where the program is started in the project.
  return relative(builtin<Process>("A config", "node:process").cwd(), found) || ".";
}
