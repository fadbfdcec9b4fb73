// The project of a config. Paths in the config may not leave it, neither by `..` nor through symbolic links.
import { builtin } from "../../platform/builtin.ts";
import { failWithoutPlace, type Fail } from "./config-error.ts";
import { nearest } from "../../core/names.ts";

const OWNER = "A config";

/** The directory of the nearest package.json above a config, or its own when there is none. */
export function projectOf(directory: string): string {
  const { existsSync } = builtin(OWNER, "node:fs");
  const { dirname, join } = builtin(OWNER, "node:path");
  let here = directory;
  while (!existsSync(join(here, "package.json"))) {
    const above = dirname(here);
    if (above === here) return directory;
    here = above;
  }
  return here;
}

interface Inside {
  /** Directory that the path is relative to. Default: the project. */
  readonly from?: string;
  readonly fail?: Fail;
}

/** A path of a config as an absolute path, which need not exist. Throws when it leaves the project. */
export function insideProject(
  project: string,
  path: string,
  { from = project, fail = failWithoutPlace }: Inside = {},
): string {
  const { resolve, relative } = builtin(OWNER, "node:path");
  const bad = whyNoPath(path);
  if (bad !== undefined) throw fail(`Expected a path in the project, got ${JSON.stringify(path)}: ${bad}.`);
  const target = resolve(from, path);
  const real = realPath(target, fail);
  if (leaves(relative(project, target)) || leaves(relative(realPath(project, fail), real)))
    throw fail(`\`${path}\` leaves the project, which is ${project}. Keep what a config names inside it.`);
  return target;

  function leaves(way: string): boolean {
    return way === ".." || /^\.\.[\\/]/.test(way) || resolve(way) === way;
  }
}

function whyNoPath(path: string): string | undefined {
  if (path === "") return "it is empty";
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  if (/[\0-\x1f\x7f]/.test(path)) return "it has a control character";
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(path)) return "it is a URL";
  // A separator on Windows and part of a name elsewhere: a portable config has none.
  return path.includes("\\") ? "write / for \\" : undefined;
}

/** The real path of the part that exists, and the rest as written. */
function realPath(path: string, fail: Fail): string {
  const { lstatSync, realpathSync } = builtin(OWNER, "node:fs");
  const { basename, dirname, join } = builtin(OWNER, "node:path");
  try {
    return realpathSync(path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "ENOENT" && code !== "ENOTDIR")
      throw fail(`\`${path}\` cannot be looked up: ${(error as Error).message}`, error);
    // Writing through a dangling link would create a file wherever it points.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw fail(`\`${path}\` is a symbolic link to nothing.`);
    return join(realPath(dirname(path), fail), basename(path));
  }
}

const stem = (name: string): string => name.replace(/\.[^.]*$/, "");

/** ` Did you mean \`x\`?` or an empty string, to append to a message. Extensions do not count: many files share them. */
export function didYouMeanFile(name: string, files: readonly string[]): string {
  const wanted = stem(name);
  const close = files.find((file) => stem(file) === wanted) ?? nearest(wanted, files.map(stem));
  const file = close && files.find((each) => each === close || stem(each) === close);
  return file === undefined ? "" : ` Did you mean \`${file}\`?`;
}
