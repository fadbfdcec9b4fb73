// Which checkpoint of a run has the weights to use: the best where a monitor says which that is, the last, or a named one.
import { HooklineError } from "../../core/errors.ts";
import { didYouMean, directionOf, monitorValue } from "../../core/names.ts";
import { parseExact } from "../../runs/exact-json.ts";
import { CHECKPOINTS } from "../../runs/layout.ts";
import { readResults, type SavedModel } from "../../runs/results.ts";
import type { SavedCheckpoint } from "../store.ts";
import { bytesOf, entryAt, nodePath } from "./files.ts";
import { checkpointsIn } from "./checkpoints-in.ts";

export interface ChosenCheckpoint {
  readonly checkpoint: SavedCheckpoint & { readonly dir: string };
  /** Why it was chosen. `newest`: the best was wanted, but no monitor says which that is. */
  readonly why: "best" | "newest" | "last" | "named";
  /** What the run's results.json says of the model, if there is one. */
  readonly results: SavedModel | undefined;
}

/** `best`, `last`, or the name of one of the checkpoints in the run directory of a model. */
export async function chooseCheckpoint(runDir: string, wanted: string): Promise<ChosenCheckpoint> {
  const entry = await entryAt(runDir);
  if (entry.kind === "file" || !entry.names.includes(CHECKPOINTS)) throw await noCheckpoints(runDir);
  return chooseAmong(nodePath().join(runDir, CHECKPOINTS), wanted);
}

/** The same for the directory of checkpoints itself, which is in that of a run, or anywhere. */
export async function chooseAmong(all: string, wanted: string): Promise<ChosenCheckpoint> {
  const runDir = nodePath().basename(all) === CHECKPOINTS ? nodePath().dirname(all) : all;
  const found = (await checkpointsIn(all)).checkpoints as readonly ChosenCheckpoint["checkpoint"][];
  const results = await resultsOf(runDir);
  const named = (name: string | undefined): ChosenCheckpoint["checkpoint"] | undefined =>
    found.find((checkpoint) => checkpoint.name === name);
  const newest = found[0]!;
  if (wanted === "last") return { checkpoint: newest, why: "last", results };
  if (wanted !== "best") {
    const checkpoint = named(wanted);
    if (checkpoint) return { checkpoint, why: "named", results };
    const names = found.map(({ name }) => name);
    throw new HooklineError(
      `${runDir} has no checkpoint \`${wanted}\`.${didYouMean(wanted, names)} It has: best, last, ${names.join(", ")}.`,
    );
  }
  const best = named(results?.checkpoint ?? results?.ended) ?? named(await recordedBest(newest));
  return best ? { checkpoint: best, why: "best", results } : { checkpoint: newest, why: "newest", results };
}

async function noCheckpoints(runDir: string): Promise<HooklineError> {
  const models = Object.keys((await readResults(runDir).catch(() => undefined))?.models ?? {});
  if (models.length < 2)
    return new HooklineError(`${runDir} has no checkpoints. Train with the hook \`modelCheckpoint\`.`);
  const list = models.map((name) => `${runDir}/${name}`).join(", ");
  return new HooklineError(`${runDir} is an experiment with several models. Give one of them: ${list}.`);
}

/** The model's part of results.json: in its own directory, or in that of an experiment with several models. */
async function resultsOf(runDir: string): Promise<SavedModel | undefined> {
  const { basename, dirname, resolve } = nodePath();
  const own = await readResults(runDir);
  if (own) return Object.values(own.models)[0];
  const full = resolve(runDir);
  const models = (await readResults(dirname(full)).catch(() => undefined))?.models ?? {};
  return Object.hasOwn(models, basename(full)) ? models[basename(full)] : undefined;
}

/** What modelCheckpoint keeps of its best checkpoint. */
interface Best {
  readonly name: string;
  readonly metric: string;
  readonly value: number;
  /** Missing in checkpoints of older versions. */
  readonly mode?: "min" | "max";
}

/**
 * The best checkpoint that a hook of the run has recorded. The state in a checkpoint was taken before that checkpoint
 * counted: one that was saved for being among the best may be better than all before it.
 */
async function recordedBest({
  dir,
  name,
  reason,
  metrics,
}: ChosenCheckpoint["checkpoint"]): Promise<string | undefined> {
  const best = await bestInState(nodePath().join(dir, "state.json"));
  if (!best) return reason === "best" ? name : undefined;
  const value = reason === "best" ? monitorValue(metrics, best.metric) : undefined;
  if (value === undefined) return best.name;
  return ((best.mode ?? directionOf(best.metric)) === "max" ? value > best.value : value < best.value)
    ? name
    : best.name;
}

async function bestInState(path: string): Promise<Best | undefined> {
  let state: { readonly hooks?: Readonly<Record<string, { readonly json?: unknown }>> };
  try {
    state = parseExact(new TextDecoder().decode(await bytesOf(path))) as typeof state;
  } catch {
    // Weights of other software have no state.
    return undefined;
  }
  for (const { json } of Object.values(state?.hooks ?? {})) {
    const { best, mode } = (json ?? {}) as { readonly best?: Partial<Best> | null; readonly mode?: "min" | "max" };
    if (typeof best?.name === "string" && typeof best.metric === "string" && typeof best.value === "number")
      return { ...(best as Best), ...(mode && { mode }) };
  }
  return undefined;
}
