import { HooklineError } from "../../core/errors.ts";
import type { Json } from "../../core/options.ts";
import { builtin, type Builtin } from "../../platform/builtin.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { RECORDED_MODULE, recordable, withoutSecrets } from "../../experiment/config/recordable.ts";
import { writeAtomically } from "../../runs/atomic-write.ts";
import { FORMATS } from "../../runs/layout.ts";
import { type SweepDocument, readSweep } from "./read-sweep.ts";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { failWithoutPlace } from "../../experiment/config/fail.ts";
import { insideProject } from "../../experiment/config/project.ts";

// sweep.json: what the processes of a sweep's trials must know, and what it was begun with. It lies in the study's directory.

export const SWEEP_FILE = FORMATS.sweep.file;
const { schema: SCHEMA, version: VERSION } = FORMATS.sweep;

export interface SweepRecord {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  /** From the study's directory: moved together, they stay together. */
  readonly config: { readonly file: string; readonly project: string };
  readonly overrides: readonly string[];
  /** As the sweep has it. */
  readonly space: Json;
  readonly objectives: readonly string[];
  readonly experiment: {
    readonly file: string;
    /** Null when it holds what is no data; then the sweep is read again. */
    readonly raw: Json;
  };
}

/** Undefined where there is none. */
export function readRecord(dir: string): SweepRecord | undefined {
  const { existsSync, readFileSync } = builtin("A sweep", "node:fs");
  const file = `${dir}/${SWEEP_FILE}`;
  if (!existsSync(file)) return undefined;
  let record: SweepRecord | undefined;
  try {
    record = JSON.parse(readFileSync(file, "utf8")) as SweepRecord;
  } catch {
    record = undefined;
  }
  if (record?.schema === SCHEMA && record.version <= VERSION) return record;
  throw new HooklineError(`${file} is damaged, or was written by a newer hookline.`);
}

// What a sweep was begun with, written down for the processes of its trials, and the experiment made from it again.

const paths = (): Builtin<"node:path"> => builtin("A sweep", "node:path");

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

export const writeRecord = (dir: string, record: SweepRecord): Promise<void> =>
  writeAtomically(`${dir}/${SWEEP_FILE}`, `${JSON.stringify(record, null, 2)}\n`, "A sweep");

/** The experiment as it was when the sweep began, though its file may say something else by now. */
export async function recordedExperiment(dir: string, record: SweepRecord): Promise<ConfigTree> {
  const { dirname, resolve } = paths();
  const { env, cwd } = builtin("A sweep", "node:process");
  const { config, overrides, experiment } = record;
  if (experiment.raw === null) return (await readSweep(resolve(dir, config.file), { set: overrides })).experiment!;
  const file = resolve(dir, experiment.file);
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const tree = parseJson({ text: JSON.stringify(experiment.raw), directory: dirname(file), at: () => at });
  return { tree, file, project: resolve(dir, config.project), cwd: cwd(), env };
}

// The first thing in which two configs differ.

export interface Difference {
  readonly path: string;
  readonly before: string;
  readonly now: string;
}

/** The same in another order is no difference. */
export function difference(before: Json | undefined, now: Json | undefined, path: string = ""): Difference | undefined {
  const [then, here] = [JSON.stringify(before), JSON.stringify(now)];
  if (then === here) return undefined;
  const isTree = (value: unknown): value is Readonly<Record<string, Json>> =>
    typeof value === "object" && value !== null;
  if (!isTree(before) || !isTree(now)) return { path, before: then ?? "not there", now: here ?? "not there" };
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const found = difference(before[key], now[key], path === "" ? key : `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}

// The modules that a sweep's experiment and space name by path: the code of its trials.

/**
 * Their files, absolute. A config that is a program is one of them itself.
 * @param dir of the study
 */
export function sweepModules(dir: string): string[] {
  const { resolve } = builtin("A sweep", "node:path");
  const record = readRecord(dir);
  if (!record) return [];
  const { config, experiment, space } = record;
  const named = (value: Json, file: string): string[] =>
    stringsIn(value)
      .filter((text) => RECORDED_MODULE.test(text))
      .map((text) => resolve(dir, file, "..", text.split("#")[0]!));
  const programs = experiment.raw === null ? [config.file, experiment.file].map((file) => resolve(dir, file)) : [];
  return [...programs, ...named(experiment.raw, experiment.file), ...named(space, config.file)];
}

function stringsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

// Whether a sweep that somebody names is one that a file of this project describes, as it stands.

/**
 * @param dir of the study
 * @param hooks named by their module's export, relative to `directory`
 */
export async function checkOwnSweep(
  dir: string,
  project: string,
  hooks: readonly string[],
  directory: string,
): Promise<void> {
  const { resolve } = builtin("A sweep", "node:path");
  const record = readRecord(dir);
  if (!record) throw failWithoutPlace(`There is no ${SWEEP_FILE} in ${dir}.`);
  const file = insideProject(project, resolve(dir, record.config.file));
  const { overrides, objectives } = record;
  const sweep = await readSweep(file, { set: overrides });
  if (!sweep.experiment) throw failWithoutPlace(`${file} sweeps over no experiment.`);
  const now = await newRecord(dir, sweep, overrides, objectives);
  for (const part of ["space", "experiment"] as const) {
    const other = difference(
      part === "space" ? record.space : record.experiment.raw,
      part === "space" ? now.space : now.experiment.raw,
    );
    if (other)
      throw failWithoutPlace(
        `${dir}/${SWEEP_FILE} is not what ${file} says: \`${other.path}\` of the ${part} is ${other.before} there and ${other.now} here.`,
      );
  }
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
  /^\.{1,2}\//.test(use) ? builtin("A sweep", "node:path").resolve(directory, use) : use;
