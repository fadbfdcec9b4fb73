// Checks that an experiment produces the metrics of a sweep's objectives, as far as that is known before training.
import { OptionError } from "../../core/errors.ts";
import { didYouMean, monitorValue } from "../../core/names.ts";
import { metricNames } from "../../experiment/build/build-experiment.ts";
import type { SplitData } from "../../experiment/types.ts";

type Config = Readonly<Record<string, unknown>>;

const PARTS = ["train", "val", "test"] as const;

/** Whether the user's own code takes part in what is logged: then any metric is possible. */
function isOpen({ loaders, evaluate, metrics, hooks }: Config): boolean {
  return isThere(loaders) || isThere(evaluate) || typeof metrics === "function" || isOwn(hooks);
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/** A hook that a module exports, that a TypeScript config made, or that a built-in hook wraps. */
function isOwn(hooks: unknown): boolean {
  if (typeof hooks === "string") return /#|^\.{1,2}\//.test(hooks);
  if (typeof hooks !== "object" || hooks === null) return typeof hooks === "function";
  const isPlain = Array.isArray(hooks) || Object.getPrototypeOf(hooks) === Object.prototype;
  return !isPlain || Object.values(hooks).some(isOwn);
}

/** Why a metric will be missing; undefined where it will not, or where that is not known yet. */
function whyMissing(metric: string, config: Config, has: (part: "val" | "test") => boolean): string | undefined {
  // A metric with another prefix comes from a hook.
  if (/^(?!(?:train|val|eval|test)\/)[^/]+\//.test(metric)) return undefined;
  const names = PARTS.flatMap((part) => ["loss", ...metricNames(config["metrics"])].map((name) => `${part}/${name}`));
  if (monitorValue(Object.fromEntries(names.map((name) => [name, 0])), metric) === undefined) {
    const near = didYouMean(metric, names) || didYouMean(`val/${metric}`, names);
    return `There is no metric \`${metric}\`.${near} The experiment has: ${names.join(", ")}. Name one of them, or add to its \`metrics\`.`;
  }
  if (metric.startsWith("train/")) return undefined;
  const part = metric.startsWith("test/") ? "test" : "val";
  if (has(part)) return undefined;
  const what = part === "test" ? "test" : "validate";
  return `There is no data to ${what} on, of which \`${metric}\` would be. Give the experiment a split: \`split: { use: holdout, ${part}: 0.1 }\`.`;
}

/**
 * What is wrong with an objective, by the configs alone.
 * @param sweep its hooks may change results
 */
export function problemOfObjective(metric: string, experiment: Config, sweep: Config): string | undefined {
  if (isOpen(experiment) || isOwn(sweep["hooks"])) return undefined;
  return whyMissing(metric, experiment, () => isThere(experiment["split"]));
}

/** Checks what is known once the data is split: a split need not make all parts. */
export function checkSplit(
  objectives: readonly string[],
  experiment: Config,
  { main, folds = [] }: Partial<SplitData<unknown>>,
): void {
  // Each fold would report as if it were the whole trial.
  if (folds.length > 0)
    throw new OptionError("A sweep trains on one split, but `split` makes folds. Choose another, such as holdout.");
  if (isOpen(experiment)) return;
  for (const metric of objectives) {
    const problem = whyMissing(metric, experiment, (part) => main?.[part] !== undefined);
    if (problem !== undefined) throw new OptionError(problem);
  }
}
