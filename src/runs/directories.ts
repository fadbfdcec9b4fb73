// Where runs and studies are below a directory.
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { nodeFs, type Fs } from "./files.ts";
import { FORMATS, isFoldName, MEDIA, NO_RUNS_INSIDE } from "./layout.ts";

const OWNER = "Reading runs";
/** Kept: they are asked for at each of thousands of directories. */
let path: Builtin<"node:path"> | undefined;
let fs: Fs | undefined;
const paths = (): Builtin<"node:path"> => (path ??= builtin(OWNER, "node:path"));
const fileSystem = (): Fs => (fs ??= nodeFs(OWNER));

/** Whether this is the directory of a run. A fold is a part of its run: it counts only when its own directory is searched. */
export function isLoggedRun(root: string, { dir, files }: Directory): boolean {
  if (!files.has(FORMATS.run.file)) return false;
  const { dirname, basename } = paths();
  return !isFoldName(basename(dir)) || dirname(dir) === root || dir === root;
}

/** Levels below the directory that is searched: models and folds of an experiment are one or two levels below it. */
const DEEPEST = 4;

export interface Directory {
  readonly dir: string;
  /** Names of its files. */
  readonly files: ReadonlySet<string>;
}

/** The directories of all studies in or below a directory. */
export const findStudies = (root: string): string[] => findDirectories(root, FORMATS.journal.file);

/** Every directory in or below `root` that has this file. */
export const findDirectories = (root: string, file: string): string[] =>
  [...directories(root)].filter(({ files }) => files.has(file)).map(({ dir }) => dir);

/** Each directory in or below `root` in which a run or a study may be; none when there is no `root`. */
export function* directories(root: string, depth = 0): Generator<Directory> {
  const { files, below } = contentsOf(root, depth === 0);
  yield { dir: root, files };
  if (depth === DEEPEST) return;
  for (const name of below) yield* directories(paths().join(root, name), depth + 1);
}

/** The names of its files, and those of the directories in which runs may be. */
function contentsOf(dir: string, isRoot: boolean): { readonly files: Set<string>; readonly below: readonly string[] } {
  const files = new Set<string>();
  const below: string[] = [];
  for (const entry of entriesOf(dir, isRoot)) {
    const { name } = entry;
    if (entry.isFile()) files.add(name);
    else if (entry.isDirectory() && !name.startsWith(".") && !NO_RUNS_INSIDE.has(name)) below.push(name);
  }
  // Those may be thousands of images.
  return { files, below: files.has(FORMATS.run.file) ? below.filter((name) => name !== MEDIA) : below };
}

function entriesOf(dir: string, isRoot: boolean): ReturnType<typeof readEntries> {
  try {
    return readEntries(dir);
  } catch (error) {
    // A folder below that cannot be read is not one of ours.
    if (!isRoot || codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

const readEntries = (dir: string) => fileSystem().readdirSync(dir, { withFileTypes: true });

/** The path from the directory that is searched; the name of the directory for that itself. */
export function nameFrom(root: string, dir: string): string {
  const { basename } = paths();
  return pathFrom(root, dir) || basename(dir);
}

/** The path from one directory to another, with the same separators. */
export function pathFrom(root: string, dir: string): string {
  const { relative, sep } = paths();
  // `relative` resolves both, for each of thousands of runs.
  return dir.startsWith(root + sep) ? dir.slice(root.length + sep.length) : relative(root, dir);
}
