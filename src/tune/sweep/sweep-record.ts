// sweep.json, in a study's directory: what a sweep was begun with.
import type { Json } from "../../core/options.ts";
import { HooklineError } from "../../core/errors.ts";
import { RECORDED_MODULE } from "../../experiment/config/config-record.ts";
import { builtin, type Builtin } from "../../platform/builtin.ts";
import { FORMATS } from "../../runs/layout.ts";

export const SWEEP_FILE = FORMATS.sweep.file;
export const { schema: SCHEMA, version: VERSION } = FORMATS.sweep;
const OWNER = "A sweep";

export interface SweepRecord {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  /** Relative to the study's directory, so that both can be moved together. */
  readonly config: { readonly file: string; readonly project: string };
  readonly overrides: readonly string[];
  /** As the sweep has it. */
  readonly space: Json;
  readonly objectives: readonly string[];
  readonly experiment: {
    readonly file: string;
    /** Null when it holds something that is not data; then the sweep's file is read again. */
    readonly raw: Json;
  };
}

export const paths = (): Builtin<"node:path"> => builtin(OWNER, "node:path");

/** Undefined where there is none. */
export function readRecord(dir: string): SweepRecord | undefined {
  const { existsSync, readFileSync } = builtin(OWNER, "node:fs");
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

/**
 * The files of the modules that a sweep's experiment and space name by path, absolute. A config that is a program is one
 * of them itself.
 * @param dir of the study
 */
export function sweepModules(dir: string): string[] {
  const { resolve } = paths();
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

/** The name of a sweep's trial is the path of the sweep's record. No module has such a name. */
const SWEEP = /^(.*)\/sweep\.json$/;

/** The study's directory, if the trial is the experiment of a sweep; undefined for a module's export. */
export const sweepOf = (trial: string): string | undefined => SWEEP.exec(trial)?.[1];
