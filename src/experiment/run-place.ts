// The directory of an experiment when a new one begins there: two runs are never mixed, and none is lost.
import { OptionError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import { moveDirectoryAside } from "../runs/files.ts";
import { foldDirectory, FORMATS, LOG_TRACES, RUN_TRACES } from "../runs/layout.ts";
import { readResults, type SavedResults } from "../runs/results.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/**
 * How to make room for a new run: one that has ended is moved aside as a whole, or replaced when it had not done a step.
 * One that seems to be running may be, and what is no experiment's is not ours to move: these are errors.
 * @param folders where its trainings would write
 * @returns the move, for when the new run begins: what fails before leaves the old one where it is
 */
export async function roomFor(
  dir: string,
  folders: readonly string[],
  warn: (message: string) => void,
): Promise<() => void> {
  const saved = await readResults(dir);
  if (saved?.status === "running") {
    throw new OptionError(
      `Experiment: ${dir} has a run that has not ended: it was killed, or is still running. Go on with it (run({ resume: true }), on the command line \`npx hookline resume\`), or delete or rename the directory to start anew.`,
      { option: "runDir" },
    );
  }
  if (saved?.untrained) return () => replace(dir, folders, saved, warn);
  if (saved) {
    checkMovable(dir);
    return () => moveAside(dir, saved, warn);
  }
  const fs = builtin<Fs>("Experiment", "node:fs");
  const found = folders
    .flatMap((folder) => RUN_TRACES.map((name) => `${folder}/${name}`))
    .find((path) => fs.existsSync(path));
  if (found === undefined) return () => undefined;
  throw new OptionError(
    `Experiment: ${dir} already has files of another run (${found}). Choose another \`runDir\`, or delete or rename that one.`,
    { option: "runDir" },
  );
}

/** Takes away what is ours, and only that: the directory may have been there before. */
function replace(
  dir: string,
  folders: readonly string[],
  { status }: SavedResults,
  warn: (message: string) => void,
): void {
  const fs = builtin<Fs>("Experiment", "node:fs");
  for (const folder of folders.flatMap((each) => [each, foldDirectory(each, 1)])) {
    for (const name of [...RUN_TRACES, ...LOG_TRACES]) fs.rmSync(`${folder}/${name}`, { recursive: true, force: true });
  }
  warn(`the last run in ${dir} (${status}) had not done a step: this one takes its place`);
}

export function moveAside(dir: string, saved: SavedResults, warn: (message: string) => void): void {
  checkMovable(dir);
  const moved = moveDirectoryAside(dir);
  const way = saved.status === "completed" ? "" : "; to go on with it instead, rename it back and say `resume`";
  warn(`the last run in ${dir} (${saved.status}) is in ${moved} now${way}`);
}

/** The directory that we are in, or one around it, has more in it than a run. */
function checkMovable(dir: string): void {
  const { relative, resolve, isAbsolute } = builtin<Path>("Experiment", "node:path");
  const rest = relative(resolve(dir), resolve("."));
  if (rest.startsWith("..") || isAbsolute(rest)) return;
  throw new OptionError(
    `Experiment: ${dir} has a run that has ended (${FORMATS.results.file}) and cannot be moved aside: it is the current directory, or around it. Choose another \`runDir\`.`,
    { option: "runDir" },
  );
}
