// experiment.json: what a run directory must state so that its run can be resumed, evaluated and used from it alone.
import type { Json } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { toJson } from "./exact-json.ts";
import { nodeFs, replaceFile } from "./files.ts";
import { FORMATS } from "./layout.ts";
import type { ProcessMark } from "./liveness.ts";

const { file: FILE, schema: SCHEMA, version: VERSION } = FORMATS.experiment;
const OWNER = "An experiment's directory";

/** What does not change during the run; results.json has the rest. */
export interface ExperimentRecord {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Relative to the run directory, so that they can be moved together. */
  readonly config: { readonly file: string; readonly project: string };
  readonly overrides: readonly string[];
  /**
   * The merged config with `${NAME}` as written, so that it contains no secret of the environment. Null when a
   * TypeScript config holds something other than plain data; then its file is read again.
   */
  readonly raw: Json;
  readonly versions: Readonly<Record<string, string>>;
  /** The process that trains it, or did last. */
  readonly process: ProcessMark;
}

export function writeExperimentRecord(runDir: string, record: Omit<ExperimentRecord, "schema" | "version">): void {
  const fs = nodeFs(OWNER);
  fs.mkdirSync(runDir, { recursive: true });
  const text = `${toJson({ schema: SCHEMA, version: VERSION, ...record }, 2)}\n`;
  replaceFile(fs, `${runDir}/${FILE}`, (put) => put(new TextEncoder().encode(text)));
}

/** The record; `missing` when there is no such file, `damaged` when it cannot be read or is of a newer version. */
export function readExperimentRecord(runDir: string): ExperimentRecord | "missing" | "damaged" {
  let text: string;
  try {
    text = builtin(OWNER, "node:fs").readFileSync(`${runDir}/${FILE}`, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return "missing";
    throw error;
  }
  try {
    const record = JSON.parse(text) as ExperimentRecord | null;
    return record?.schema === SCHEMA && record.version <= VERSION && isWhole(record) ? record : "damaged";
  } catch {
    return "damaged";
  }
}

const isText = (value: unknown): boolean => typeof value === "string";

function isWhole({ name, config, overrides, raw }: ExperimentRecord): boolean {
  const isConfig = isText(config?.file) && isText(config.project) && typeof raw === "object" && !Array.isArray(raw);
  return isConfig && isText(name) && Array.isArray(overrides) && overrides.every(isText);
}
