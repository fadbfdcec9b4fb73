// experiment.json: what a run directory must know so that a run can be gone on with, evaluated and used from it alone.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { thisProcess, type ProcessMark } from "../../runs/liveness.ts";
import type { Json } from "../../core/options.ts";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { recordable, withoutSecrets } from "../../experiment/config/recordable.ts";
import { toJson } from "../../runs/log-lines.ts";
import { UsageError } from "./exit.ts";
import { typed } from "./hints.ts";
import { readManifest } from "./package.ts";
import { noDirectory } from "./no-directory.ts";

const SCHEMA = "hookline.experiment";
const VERSION = 1;
const FILE = "experiment.json";

/** What is not changed by how the run goes: that is in results.json. */
export interface ExperimentRecord {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** From the run directory: moved together, they stay together. */
  readonly config: { readonly file: string; readonly project: string };
  readonly overrides: readonly string[];
  /**
   * The merged config with `${NAME}` as written: no secret of the environment is in it. Null when a TypeScript config
   * holds what is no data; then the file is read again.
   */
  readonly raw: Json;
  readonly versions: Readonly<Record<string, string>>;
  /** Who trains it, or did last. */
  readonly process: ProcessMark;
}

export function newRecord(
  runDir: string,
  name: string,
  doc: ConfigDocument,
  overrides: readonly string[],
): ExperimentRecord {
  const from = (path: string): string => relative(resolve(runDir), resolve(path)) || ".";
  return {
    schema: SCHEMA,
    version: VERSION,
    name,
    startedAt: Date.now(),
    config: { file: from(doc.file), project: from(doc.project) },
    overrides: overrides.map(withoutSecrets),
    raw: recordable(doc),
    versions: { hookline: readManifest().version, node: process.versions.node },
    process: thisProcess(),
  };
}

/** Replaced as a whole: a reader finds the old one or the new one. */
export function writeRecord(runDir: string, record: ExperimentRecord): void {
  const file = join(runDir, FILE);
  mkdirSync(runDir, { recursive: true });
  const temp = `${file}.${process.pid}.tmp`;
  writeFileSync(temp, `${toJson(record, 2)}\n`);
  renameSync(temp, file);
}

/** The record of a run that a command is to use. */
export function readRecord(runDir: string): ExperimentRecord {
  const file = join(runDir, FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    if (!existsSync(runDir)) throw noDirectory(runDir, `\`${typed("runs")}\` lists runs.`);
    throw new UsageError(
      `${runDir} has no ${FILE}: it is no run of \`hookline train\`. Give the directory of one, as \`${typed("runs")}\` lists them.`,
    );
  }
  const record = parse(text);
  if (record?.schema !== SCHEMA || !(record.version <= VERSION))
    throw new UsageError(`${file} is damaged, or was written by a newer hookline.`);
  return record;
}

function parse(text: string): ExperimentRecord | undefined {
  try {
    return JSON.parse(text) as ExperimentRecord;
  } catch {
    return undefined;
  }
}
