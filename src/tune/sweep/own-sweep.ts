// Whether a sweep that somebody names is one that a file of this project describes, as it stands.
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { failWithoutPlace } from "../../experiment/config/fail.ts";
import { insideProject } from "../../experiment/config/project.ts";
import { builtin } from "../../platform/builtin.ts";
import { difference } from "./difference.ts";
import { readSweep } from "./read-sweep.ts";
import { readRecord, SWEEP_FILE } from "./record-file.ts";
import { newRecord } from "./record.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

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
  const { resolve } = builtin<Paths>("A sweep", "node:path");
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
  /^\.{1,2}\//.test(use) ? builtin<Paths>("A sweep", "node:path").resolve(directory, use) : use;
