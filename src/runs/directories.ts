// Where runs and studies are below a directory.
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { nodeFs } from "./files.ts";
import { FORMATS, isFoldName, NO_RUNS_INSIDE } from "./layout.ts";

const OWNER = "Reading runs";
const paths = (): Builtin<"node:path"> => builtin(OWNER, "node:path");

/** Whether this is the directory of a run. A fold is a part of its run: it counts only when its own directory is searched. */
export function isLoggedRun(root: string, { dir, files }: Directory): boolean {
  const { dirname, basename } = paths();
  const isFold = isFoldName(basename(dir)) && dirname(dir) !== root && dir !== root;
  return files.has(FORMATS.run.file) && !isFold;
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
  const entries = entriesOf(root, depth === 0);
  yield { dir: root, files: new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name)) };
  if (depth === DEEPEST) return;
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name.startsWith(".") || NO_RUNS_INSIDE.has(entry.name)) continue;
    yield* directories(paths().join(root, entry.name), depth + 1);
  }
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

const readEntries = (dir: string) => nodeFs(OWNER).readdirSync(dir, { withFileTypes: true });

/** The path from the directory that is searched. */
export function nameFrom(root: string, dir: string): string {
  const { relative, basename } = paths();
  return relative(root, dir) || basename(dir);
}
