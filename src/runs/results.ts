// results.json: the progress and the results of an experiment. It is replaced as a whole each time.
import { HooklineError } from "../core/errors.ts";
import type { Json } from "../core/options.ts";
import { fromJson, toJson } from "./exact-json.ts";
import { writeAtomically } from "./atomic-write.ts";
import { FORMATS } from "./layout.ts";
import type { Numbers } from "./types.ts";
import { builtin } from "../platform/builtin.ts";
import type { RunResult } from "../core/loop/result.ts";

const { file: FILE, schema: SCHEMA, version: VERSION } = FORMATS.results;

/** How a training ended: the numbers of its RunResult. */
export type TrainingSummary = Pick<
  RunResult,
  "status" | "reason" | "requestedBy" | "steps" | "skippedSteps" | "epochs" | "elapsed" | "metrics" | "engine"
>;

/** Statistics over the folds. */
export interface FoldStats {
  readonly mean: number;
  /** Sample standard deviation, with n - 1 in the denominator. */
  readonly std: number;
}

/** One model in the file. */
export interface SavedModel {
  readonly complete: boolean;
  readonly params: Readonly<Record<string, Json>>;
  /** Set once its main training has ended. */
  readonly training?: TrainingSummary;
  /** The last checkpoint of that training, to resume from without another step. */
  readonly ended?: string;
  /** Where the evaluated parameters came from. */
  readonly checkpoint?: string;
  readonly results?: Numbers;
  /** Of each complete fold. */
  readonly foldResults?: readonly Numbers[];
  readonly folds?: Readonly<Record<string, FoldStats>>;
}

/** Contents of results.json. The status stays `running` if the experiment was killed. */
export interface SavedResults {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  readonly name: string;
  readonly status: "running" | "error" | RunResult["status"];
  readonly reason: string;
  readonly requestedBy: string;
  readonly seed: number;
  /** The fingerprint of the fitted preprocessor: a resumed run must have the same. */
  readonly preprocessor?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** It ended before its first step: there is nothing to resume, and nothing to keep. */
  readonly untrained?: boolean;
  readonly models: Readonly<Record<string, SavedModel>>;
}

export async function writeResults(dir: string, results: Omit<SavedResults, "schema" | "version">): Promise<void> {
  const text = `${toJson({ schema: SCHEMA, version: VERSION, ...results }, 2)}\n`;
  await writeAtomically(`${dir}/${FILE}`, text, "Experiment");
}

/** Reads results.json; undefined if there is none. Throws if it cannot be read. */
export async function readResults(dir: string): Promise<SavedResults | undefined> {
  const { readFile } = builtin("Experiment", "node:fs/promises");
  const file = `${dir}/${FILE}`;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
  const saved = parse(text);
  if (saved?.schema === SCHEMA && saved.version <= VERSION && isWhole(saved)) return saved;
  const why = saved?.schema === SCHEMA && saved.version > VERSION ? "was written by a newer hookline" : "is not ours";
  throw new HooklineError(`Experiment: ${file} ${why}. Choose another \`runDir\`, or move the file away.`);
}

const is = (value: unknown): value is object => typeof value === "object" && value !== null;
const isNumber = (value: unknown): boolean => typeof value === "number";
const areNumbers = (values: unknown): boolean =>
  values === undefined || (is(values) && Object.values(values).every(isNumber));

function isWhole({ status, reason, startedAt, models }: SavedResults): boolean {
  const isTold = typeof status === "string" && typeof reason === "string";
  // What a Date can hold.
  const isTimed = isNumber(startedAt) && Math.abs(startedAt) <= 8.64e15;
  return isTold && isTimed && is(models) && Object.values(models).every((model) => is(model) && isModel(model));
}

function isModel({ training, results }: SavedModel): boolean {
  if (training === undefined) return areNumbers(results);
  const { steps, elapsed, metrics, status, reason } = is(training) ? training : ({} as TrainingSummary);
  const isTold = typeof status === "string" && typeof reason === "string";
  return isTold && isNumber(steps) && isNumber(elapsed) && areNumbers(metrics) && areNumbers(results);
}

function parse(text: string): SavedResults | undefined {
  try {
    // No name or reason in the file is one of the names of numbers.
    const saved = fromJson(text);
    return is(saved) ? (saved as SavedResults) : undefined;
  } catch {
    return undefined;
  }
}
