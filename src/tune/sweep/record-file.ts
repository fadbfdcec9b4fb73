// sweep.json: what the processes of a sweep's trials must know, and what it was begun with. It lies in the study's directory.
import { HooklineError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { builtin } from "../../platform/builtin.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;

export const SWEEP_FILE = "sweep.json";
export const SCHEMA = "hookline.sweep";
export const VERSION = 1;

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
  const { existsSync, readFileSync } = builtin<Fs>("A sweep", "node:fs");
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
