// results.json: how far an experiment is and what came out of it, replaced as a whole each time.
import { HooklineError } from "../core/errors.ts";
import type { Json } from "../core/options.ts";
import { writeAtomically } from "./files.ts";
import { builtin } from "../platform/builtin.ts";
import type { RunResult } from "../core/result.ts";

export const RESULTS_FILE = "results.json";
const SCHEMA = "hookline.results";
const VERSION = 1;

type Numbers = Readonly<Record<string, number>>;

/** How a training ended: the numbers of its RunResult. `onTrainingComplete` sees all of it, the run directory keeps the rest. */
export type TrainingSummary = Pick<
  RunResult,
  "status" | "reason" | "requestedBy" | "steps" | "skippedSteps" | "epochs" | "elapsed" | "metrics" | "engine"
>;

/** Over the folds. */
export interface FoldStats {
  readonly mean: number;
  /** Of a sample: with n - 1 in the denominator. */
  readonly std: number;
}

/** One model in the file. */
export interface SavedModel {
  readonly complete: boolean;
  readonly params: Readonly<Record<string, Json>>;
  /** When its main training has ended. */
  readonly training?: TrainingSummary;
  /** The last checkpoint of that training, to go on from without a further step. */
  readonly ended?: string;
  /** Where the evaluated parameters came from. */
  readonly checkpoint?: string;
  readonly results?: Numbers;
  /** Of each fold that is done. */
  readonly foldResults?: readonly Numbers[];
  readonly folds?: Readonly<Record<string, FoldStats>>;
}

/** What the file says. `running` is also what an experiment leaves that was killed. */
export interface SavedResults {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  readonly name: string;
  readonly status: "running" | "error" | RunResult["status"];
  readonly reason: string;
  readonly requestedBy: string;
  readonly seed: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** It has ended before its first step was done: there is nothing to go on from, and nothing to keep. */
  readonly untrained?: boolean;
  readonly models: Readonly<Record<string, SavedModel>>;
}

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;

/** Numbers that JSON lacks are strings, as in run.json. */
const toText = (value: unknown): string =>
  JSON.stringify(
    value,
    (_, item: unknown) => (typeof item === "number" && !Number.isFinite(item) ? String(item) : item),
    2,
  );

const NUMBERS: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity"]);

export async function writeResults(dir: string, results: Omit<SavedResults, "schema" | "version">): Promise<void> {
  await writeAtomically(
    "Experiment",
    `${dir}/${RESULTS_FILE}`,
    `${toText({ schema: SCHEMA, version: VERSION, ...results })}\n`,
  );
}

/** Undefined when there is none. What is there and cannot be read is an error: nothing may be guessed from it. */
export async function readResults(dir: string): Promise<SavedResults | undefined> {
  const { readFile } = builtin<Fs>("Experiment", "node:fs/promises");
  const file = `${dir}/${RESULTS_FILE}`;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
  const saved = parse(text);
  if (saved?.schema === SCHEMA && saved.version <= VERSION && is(saved.models)) return saved;
  const why = saved?.schema === SCHEMA && saved.version > VERSION ? "was written by a newer hookline" : "is not ours";
  throw new HooklineError(`Experiment: ${file} ${why}. Choose another \`runDir\`, or move the file away.`);
}

const is = (value: unknown): value is object => typeof value === "object" && value !== null;

function parse(text: string): SavedResults | undefined {
  try {
    // Only numbers are ever written as these words: names and reasons are longer.
    const saved = JSON.parse(text, (_, item: unknown) => (NUMBERS.has(item) ? Number(item) : item)) as unknown;
    return is(saved) ? (saved as SavedResults) : undefined;
  } catch {
    return undefined;
  }
}
