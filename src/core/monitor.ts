// Finding a monitored metric: by its name, or by one that other systems use for it.
import { OptionError } from "./errors.ts";
import { didYouMean } from "./suggest.ts";

/** `eval_loss`, `eval/loss` and `val_loss` are other names of `val/loss`. */
const ALIASES = /^(?:eval_|eval\/|val_)(.+)$/;

/** Whether a metric is one of evaluations, as far as its name tells. */
export const isOfEvaluation = (monitor: string): boolean => /^(?:val|eval)[/_]/.test(monitor);

/** The value of a monitored metric, or undefined when there is none of that name yet. */
export function monitorValue(metrics: Readonly<Record<string, number>>, monitor: string): number | undefined {
  if (Object.hasOwn(metrics, monitor)) return metrics[monitor];
  const alias = ALIASES.exec(monitor);
  return alias ? metrics[`val/${alias[1]}`] : undefined;
}

/** The error for a monitor that does not exist: it lists what does. */
export function unknownMonitor(owner: string, monitor: string, metrics: Readonly<Record<string, number>>): OptionError {
  const known = Object.keys(metrics);
  return new OptionError(
    `${owner}: there is no metric \`${monitor}\`.${didYouMean(monitor, known)} Metrics so far: ${known.join(", ") || "none"}.`,
  );
}

/** Whether more or less is better, guessed from a metric's name when the user does not say. */
export function directionOf(monitor: string): "min" | "max" {
  return /acc|auc|f1|precision|recall|map$|ndcg|mrr|hit|bleu|rouge|iou|dice|r2|score|psnr|ssim/i.test(monitor)
    ? "max"
    : "min";
}

/**
 * The names of the loaders in the trainer's option `eval`, in the order of evaluation; a single loader is called `val`.
 * A hook that compares metrics does so after the last one, when every metric is of the same evaluation.
 */
export function evalLoaderNames(option: unknown): string[] {
  const loaders = (option ?? {}) as Readonly<Record<string, unknown>>;
  return typeof loaders.next === "function" ? ["val"] : Object.keys(loaders);
}
