// The directory of a run on the command line: the record that `train` writes for `resume`, `eval` and `predict`, the
// config in it, and what happens to an unfinished run.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { recordable, withoutSecrets } from "../../experiment/config/config-record.ts";
import { type ExperimentRecord, readExperimentRecord } from "../../runs/experiment-json.ts";
import { CHECKPOINTS, FORMATS } from "../../runs/layout.ts";
import { thisProcess } from "../../runs/liveness.ts";
import { UsageError, noDirectory } from "../errors.ts";
import { say, typed, typedResume } from "../output.ts";
import { readManifest } from "../package.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { documentOf, readConfig } from "../../experiment/config/read-config.ts";
import { checkUnlocked } from "../../runs/lock.ts";
import { sentence } from "../../experiment/config/config-error.ts";
import { readResults, type SavedResults } from "../../runs/results.ts";
import { moveAside } from "../../experiment/previous-run.ts";

export type NewRecord = Omit<ExperimentRecord, "schema" | "version">;

export function newRecord(runDir: string, name: string, doc: ConfigDocument, overrides: readonly string[]): NewRecord {
  const from = (path: string): string => relative(resolve(runDir), resolve(path)) || ".";
  return {
    name,
    startedAt: Date.now(),
    config: { file: from(doc.file), project: from(doc.project) },
    overrides: overrides.map(withoutSecrets),
    raw: recordable(doc),
    versions: { hookline: readManifest().version, node: process.versions.node },
    process: thisProcess(),
  };
}

export function readRecord(runDir: string): ExperimentRecord {
  const record = readExperimentRecord(runDir);
  const { file } = FORMATS.experiment;
  if (record === "damaged")
    throw new UsageError(`${join(runDir, file)} is damaged, or was written by a newer hookline.`);
  if (record !== "missing") return record;
  if (!existsSync(runDir)) throw noDirectory(runDir, `\`${typed("runs")}\` lists runs.`);
  throw new UsageError(
    `${runDir} has no ${file}: it is not a run of \`hookline train\`. Give the directory of one, as \`${typed("runs")}\` lists them.`,
  );
}

/** Whether the config of a run names the model `lm`. */
export const trainsLanguageModel = ({ raw }: Pick<NewRecord, "raw">): boolean =>
  (raw as { readonly model?: { readonly use?: unknown } } | null)?.model?.use === "lm";

/** The config that was trained in `runDir`, with `set` on top. The config's file may have changed since. */
export async function recordedConfig(
  runDir: string,
  { config, raw, overrides }: ExperimentRecord,
  set: readonly string[],
): Promise<ConfigDocument> {
  const file = resolve(runDir, config.file);
  const project = resolve(runDir, config.project);
  if (!existsSync(project))
    throw new UsageError(
      `${runDir} belongs to a project in ${project}, which does not exist. Put the run back into its project: its data and its own code are read from there.`,
    );
  // The directory may have been moved.
  const here = [...set, `runDir=${JSON.stringify(resolve(runDir))}`];
  if (raw === null) return readConfig(file, { set: [...overrides, ...here] });
  const at = { file: join(runDir, FORMATS.experiment.file) };
  const tree = parseJson({ text: JSON.stringify(raw), directory: dirname(file), at: () => at });
  return documentOf(tree, { file, project, set: here, cwd: process.cwd(), env: process.env });
}

/** Moves an unfinished run aside if `fresh`. The experiment itself handles a finished run and one without a step. */
export async function makeRoom(runDir: string, fresh: boolean, dirFlag = "--run-dir"): Promise<void> {
  const saved = await checkRoom(runDir, fresh, dirFlag);
  if (saved) moveAside(runDir, saved, say);
}

/** The unfinished run in the directory, if it may be moved. */
export async function checkRoom(
  runDir: string,
  fresh: boolean,
  dirFlag = "--run-dir",
): Promise<SavedResults | undefined> {
  const saved = await readResults(runDir);
  if (!saved || saved.untrained || saved.status === "completed" || saved.status === "stopped") return undefined;
  if (!fresh) throw new UsageError(unfinished(runDir, saved, dirFlag));
  checkNobodyThere(runDir);
  return saved;
}

/** Throws an error that names the process that is training there. */
export function checkNobodyThere(runDir: string): void {
  for (const dir of checkpointsBelow(runDir)) checkUnlocked(dir);
}

function unfinished(runDir: string, { status, reason, models }: SavedResults, dirFlag: string): string {
  const how = status === "running" ? "is running, or was killed" : `ended with: ${reason || status}`;
  const hasCheckpoints = checkpointsBelow(runDir).some((dir) => readdirSync(dir).some((name) => !name.startsWith(".")));
  const isLeft = hasCheckpoints || Object.keys(models).length > 0;
  const resume = isLeft
    ? `Continue it with the config it was started with: \`${typedResume(runDir)}\`; \`--set\` changes a value. Or start a new run with this config`
    : "It left no checkpoint, so there is nothing to continue. Start a new run";
  return `${runDir} has an unfinished run, which ${sentence(how)} ${resume}: \`--fresh\` moves it aside, \`${dirFlag}\` leaves it where it is.`;
}

/** The checkpoint directories of the run, of its models and of their folds. */
function checkpointsBelow(dir: string, depth = 0): string[] {
  if (depth > 2 || !existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => (name === CHECKPOINTS ? [join(dir, name)] : checkpointsBelow(join(dir, name), depth + 1)));
}
