// Compares a sweep's record with its files: the processes of its trials make the experiment from the record, a resumed
// sweep is compared with it, and a worker checks it against its own project.
import type { Json } from "../../core/options.ts";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { failWithoutPlace } from "../../experiment/config/config-error.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { insideProject } from "../../experiment/config/project.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { recordable, withoutSecrets } from "../../experiment/config/config-record.ts";
import { builtin } from "../../platform/builtin.ts";
import { writeAtomically } from "../../runs/atomic-write.ts";
import { readSweep, type SweepDocument } from "./read-sweep.ts";
import { paths, readRecord, SCHEMA, SWEEP_FILE, type SweepRecord, VERSION } from "./sweep-record.ts";

const OWNER = "A sweep";

export const writeRecord = (dir: string, record: SweepRecord): Promise<void> =>
  writeAtomically(`${dir}/${SWEEP_FILE}`, `${JSON.stringify(record, null, 2)}\n`, OWNER);

export async function newRecord(
  dir: string,
  { doc, experiment }: SweepDocument,
  overrides: readonly string[],
  objectives: readonly string[],
): Promise<SweepRecord> {
  const { relative, resolve } = paths();
  const from = (path: string): string => relative(resolve(dir), resolve(experiment!.cwd, path)) || ".";
  const whole = await documentOf(experiment!.tree, { ...experiment!, set: [] });
  return {
    schema: SCHEMA,
    version: VERSION,
    config: { file: from(doc.file), project: from(doc.project) },
    overrides: overrides.map(withoutSecrets),
    space: doc.value["space"] as Json,
    objectives,
    experiment: { file: from(experiment!.file), raw: recordable(whole) },
  };
}

/** The experiment as it was when the sweep began, even if its file has changed since. */
export async function recordedExperiment(dir: string, record: SweepRecord): Promise<ConfigTree> {
  const { dirname, resolve } = paths();
  const { env, cwd } = builtin(OWNER, "node:process");
  const { config, overrides, experiment } = record;
  if (experiment.raw === null) return (await readSweep(resolve(dir, config.file), { set: overrides })).experiment!;
  const file = resolve(dir, experiment.file);
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const tree = parseJson({ text: JSON.stringify(experiment.raw), directory: dirname(file), at: () => at });
  return { tree, file, project: resolve(dir, config.project), cwd: cwd(), env };
}

interface Difference {
  readonly path: string;
  readonly before: string;
  readonly now: string;
}

/** The first difference between two configs. The order of keys does not count. */
export function difference(before: Json | undefined, now: Json | undefined, path: string = ""): Difference | undefined {
  const [there, here] = [JSON.stringify(before), JSON.stringify(now)];
  if (there === here) return undefined;
  const isTree = (value: unknown): value is Readonly<Record<string, Json>> =>
    typeof value === "object" && value !== null;
  if (!isTree(before) || !isTree(now)) return { path, before: there ?? "not there", now: here ?? "not there" };
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const found = difference(before[key], now[key], path === "" ? key : `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}

/**
 * Throws unless the record is what a sweep file of this project describes now.
 * @param dir of the study
 * @param hooks named by their module's export, relative to `directory`
 */
export async function checkOwnSweep(
  dir: string,
  project: string,
  hooks: readonly string[],
  directory: string,
): Promise<void> {
  const record = readRecord(dir);
  if (!record) throw failWithoutPlace(`There is no ${SWEEP_FILE} in ${dir}.`);
  const file = insideProject(project, paths().resolve(dir, record.config.file));
  const { overrides, objectives } = record;
  const sweep = await readSweep(file, { set: overrides });
  if (!sweep.experiment) throw failWithoutPlace(`${file} sweeps over no experiment.`);
  const now = await newRecord(dir, sweep, overrides, objectives);
  const checkPart = (part: string, before: Json, current: Json): void => {
    const other = difference(before, current);
    if (!other) return;
    throw failWithoutPlace(
      `${dir}/${SWEEP_FILE} is not what ${file} says: \`${other.path}\` of the ${part} is ${other.before} there and ${other.now} here.`,
    );
  };
  checkPart("space", record.space, now.space);
  checkPart("experiment", record.experiment.raw, now.experiment.raw);
  const named = hooksOf(sweep.doc);
  const foreign = hooks.find((hook) => !named.has(absolute(hook, directory)));
  if (foreign !== undefined) throw failWithoutPlace(`${file} names no hook \`${foreign}\`.`);
}

/** The exports that a sweep's `hooks` name, with absolute paths. */
function hooksOf(doc: ConfigDocument): ReadonlySet<string> {
  const value = doc.value["hooks"];
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  const uses = all.map((each) => (typeof each === "string" ? each : (each as { use?: unknown } | undefined)?.use));
  const at = (i: number): readonly (string | number)[] => (Array.isArray(value) ? ["hooks", i] : ["hooks"]);
  return new Set(uses.flatMap((use, i) => (typeof use === "string" ? [absolute(use, doc.directoryOf(at(i)))] : [])));
}

const absolute = (use: string, directory: string): string =>
  /^\.{1,2}\//.test(use) ? paths().resolve(directory, use) : use;
