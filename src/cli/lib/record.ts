// The record of a run that `train` began, experiment.json: written for `resume`, `eval` and `predict`.
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { recordable, withoutSecrets } from "../../experiment/config/recordable.ts";
import { readExperimentRecord, type ExperimentRecord } from "../../runs/experiment-json.ts";
import { FORMATS } from "../../runs/layout.ts";
import { thisProcess } from "../../runs/liveness.ts";
import { UsageError } from "./exit.ts";
import { typed } from "./hints.ts";
import { noDirectory } from "./no-directory.ts";
import { readManifest } from "./package.ts";

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
    `${runDir} has no ${file}: it is no run of \`hookline train\`. Give the directory of one, as \`${typed("runs")}\` lists them.`,
  );
}
