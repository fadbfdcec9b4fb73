// What a sweep was begun with, written down for the processes of its trials, and the experiment made from it again.
import type { Json } from "../../core/json.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { recordable, withoutSecrets } from "../../experiment/config/recordable.ts";
import { writeAtomically } from "../../runs/files.ts";
import { builtin } from "../../platform/builtin.ts";
import { readSweep, type SweepDocument } from "./read-sweep.ts";
import { SCHEMA, SWEEP_FILE, VERSION, type SweepRecord } from "./record-file.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Process = ReturnType<typeof process.getBuiltinModule<"node:process">>;

const paths = (): Paths => builtin<Paths>("A sweep", "node:path");

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
  writeAtomically("A sweep", `${dir}/${SWEEP_FILE}`, `${JSON.stringify(record, null, 2)}\n`);

/** The experiment as it was when the sweep began, though its file may say something else by now. */
export async function recordedExperiment(dir: string, record: SweepRecord): Promise<ConfigTree> {
  const { dirname, resolve } = paths();
  const { env, cwd } = builtin<Process>("A sweep", "node:process");
  const { config, overrides, experiment } = record;
  if (experiment.raw === null) return (await readSweep(resolve(dir, config.file), { set: overrides })).experiment!;
  const file = resolve(dir, experiment.file);
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const tree = parseJson({ text: JSON.stringify(experiment.raw), directory: dirname(file), at: () => at });
  return { tree, file, project: resolve(dir, config.project), cwd: cwd(), env };
}
