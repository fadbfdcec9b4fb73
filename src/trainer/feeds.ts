// The loaders that a trainer is given: checked, and the evaluation's put in order.
import { sizeOf, toBatch } from "../core/arrays.ts";
import { batchesAllowed } from "../core/loop/counters.ts";
import { ContextError, OptionError } from "../core/errors.ts";
import type { EvalFeed } from "../core/loop/evaluate.ts";
import type { HostBatch, Loader, Loss } from "../core/model.ts";
import type { Run } from "../core/loop/run.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { LoaderSet, PreviewedLoader } from "../data/loader-set.ts";
import { isLoader } from "../data/mix.ts";
import type { TrainerOptions } from "./options.ts";

export function checkLossWeights(weights: Readonly<Record<string, number>>, loaders: readonly string[]): void {
  for (const name of Object.keys(weights)) {
    if (loaders.includes(name)) continue;
    throw new OptionError(
      `Trainer: \`lossWeights\` names \`${name}\`, which is no training loader.${didYouMean(name, loaders)} Loaders: ${loaders.join(", ")}.`,
    );
  }
}

export function checkLoader(what: string, loader: Loader): void {
  if (isLoader(loader)) return;
  throw new OptionError(
    `${what}() takes one loader, such as new DataLoader({ x, y }, { batchSize: 100 }); got ${show(loader)}.`,
  );
}

/** The trainer's loss, made for the training data if it depends on them. */
export function fittedLoss({ loss, train }: Pick<TrainerOptions, "loss" | "train">): Loss | undefined {
  if (typeof loss?.fit !== "function") return loss;
  const loaders = isLoader(train) ? { train } : train;
  const columns = Object.entries(loaders).map(([name, loader]) => {
    const column = loader.column?.("y");
    if (column) return column;
    throw new OptionError(
      `Trainer: "balanced" weights are computed from all targets \`y\` of the training data, but loader \`${name}\` does not have them in memory. Give the weights as numbers, such as balancedWeights(labels).`,
      { option: "loss" },
    );
  });
  const [first] = columns;
  return loss.fit(
    columns.flatMap(({ data }) => Array.from(data)),
    sizeOf(first?.shape.slice(1) ?? []),
  );
}

/** A loader of `eval`, whose first batch can be looked at beforehand. */
export interface WatchedFeed extends EvalFeed {
  readonly loader: PreviewedLoader;
}

export function evalFeeds({
  eval: option,
  limitBatches,
}: Pick<TrainerOptions, "eval" | "limitBatches">): WatchedFeed[] {
  if (option === undefined) return [];
  const loaders = isLoader(option) ? { val: option } : option;
  // The set checks the loaders; evaluations go through each on its own.
  const { names } = new LoaderSet(loaders);
  if (names.includes("train")) {
    throw new OptionError(
      `Trainer: an evaluation loader cannot be named \`train\`: its metrics would mix with \`train/…\`.`,
    );
  }
  return names.map((name, index) => {
    const loader = new PreviewedLoader(name, loaders[name]!);
    const limit = batchesAllowed(limitBatches, "eval", loader.length, `evaluation loader \`${name}\``);
    return { name, index, loader, limitBatches: limit };
  });
}

/** The loader of a call of `evaluate`. */
export function standaloneFeed(loader: Loader, name = "test"): WatchedFeed {
  checkLoader("evaluate", loader);
  return { name, index: 0, loader: new PreviewedLoader(name, loader), limitBatches: Infinity };
}

/** A batch to look at points with: the last one, or a first one of a loader that can spare it. */
export async function batchToProbe(
  run: Pick<Run, "batch" | "epochOpen">,
  evals: readonly WatchedFeed[],
  feed: LoaderSet,
  seed: number,
): Promise<HostBatch> {
  if (Object.keys(run.batch).length > 0) return run.batch;
  // Evaluations and epochs start their loaders from the beginning, so reading a first batch here takes nothing away.
  const loader = evals[0]?.loader ?? (run.epochOpen ? undefined : feed);
  if (!loader) throw new ContextError(`probePoints() needs a batch here: an epoch is open, and its data must wait.`);
  return toBatch(await firstBatch(loader, seed), () => "probePoints: the loader");
}

/** Begins the loader for this alone. */
async function firstBatch(loader: Loader | LoaderSet, seed: number): Promise<HostBatch | undefined> {
  try {
    loader.begin(0, seed);
    return await loader.next();
  } finally {
    await loader.close?.();
  }
}
