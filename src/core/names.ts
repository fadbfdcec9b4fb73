// Names: patterns that select parameters, other names of monitored metrics, and the nearest name for "Did you mean …?".
import { OptionError } from "./errors.ts";

/**
 * Which names are meant: one pattern, several (any may match), or a function.
 * A pattern equal to a whole name means just that name; with `*` it is a glob over the whole name
 * (`*` matches dots too). Otherwise it is part of a name, and matches from the beginning of a word: at the beginning of
 * the name or after a dot, an underscore or the like. It does not end within a number. So `"0."` and `"0"` mean
 * `0.weight` and `block.0.weight`, but not `10.weight`; `"bias"` means `0.bias` and `in_proj_bias`; `"norm"` means
 * `norm1.weight`, but not `layernorm.weight`.
 */
export type NameFilter = string | readonly string[] | ((name: string) => boolean);

const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}]/u.test(char);
const isDigit = (char: string | undefined): boolean => char !== undefined && char >= "0" && char <= "9";

/** Is `part` somewhere in the name, from the beginning of a word, and not up to the middle of a number? */
function hasPart(name: string, part: string): boolean {
  const [first, last] = [part[0], part.at(-1)];
  for (let at = name.indexOf(part); at >= 0; at = name.indexOf(part, at + 1)) {
    const beginsWord = !isWord(first) || !isWord(name[at - 1]);
    const cutsNumber = isDigit(last) && isDigit(name[at + part.length]);
    if (beginsWord && !cutsNumber) return true;
  }
  return false;
}

function matchPattern(pattern: string, names: readonly string[]): (name: string) => boolean {
  if (names.includes(pattern)) return (name) => name === pattern;
  if (!pattern.includes("*")) return (name) => hasPart(name, pattern);
  const parts = pattern.split("*");
  // Greedy left-to-right search per literal part: linear, no regular expression built from user input.
  return (name) => {
    const last = parts.length - 1;
    if (!name.startsWith(parts[0]!) || !name.endsWith(parts[last]!)) return false;
    let at = parts[0]!.length;
    for (let i = 1; i < last; i++) {
      const hit = name.indexOf(parts[i]!, at);
      if (hit < 0) return false;
      at = hit + parts[i]!.length;
    }
    return at <= name.length - parts[last]!.length;
  };
}

/** The names, in their own order, that `filter` selects. */
export function selectNames(filter: NameFilter, names: readonly string[]): string[] {
  if (typeof filter === "function") return names.filter((name) => filter(name));
  const patterns = typeof filter === "string" ? [filter] : filter;
  const tests = patterns.map((pattern) => matchPattern(pattern, names));
  return names.filter((name) => tests.some((test) => test(name)));
}

/** `eval_loss`, `eval/loss` and `val_loss` are other names of `val/loss`. */
const EVAL_ALIASES = /^(?:eval_|eval\/|val_)(.+)$/;

/** Is it a metric of an evaluation, judged by its name? */
export const isOfEvaluation = (monitor: string): boolean => /^(?:val|eval)[/_]/.test(monitor);

/** The value of a monitored metric, or undefined when there is none of that name yet. */
export function monitorValue(metrics: Readonly<Record<string, number>>, monitor: string): number | undefined {
  if (Object.hasOwn(metrics, monitor)) return metrics[monitor];
  const alias = EVAL_ALIASES.exec(monitor);
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

/** Edit distance with adjacent transpositions, which are common typing mistakes. */
export function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, () => i));
  for (let j = 0; j <= b.length; j++) rows[0]![j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1);
      rows[i]![j] = best;
    }
  }
  return rows[a.length]![b.length]!;
}

/** What other systems call it: no typo, but what a newcomer types. */
const ALIASES: Readonly<Record<string, string>> = {
  maxepochs: "epochs",
  numepochs: "epochs",
  numtrainepochs: "epochs",
  maxsteps: "steps",
  callbacks: "hooks",
  learningrate: "lr",
  warmupsteps: "warmup",
  gradientclipval: "clipNorm",
  maxgradnorm: "clipNorm",
  accumulategradbatches: "accumulate",
  gradientaccumulationsteps: "accumulate",
  traindataloader: "train",
  valdataloader: "eval",
  onbatchstart: "onBatchBegin",
  onepochstart: "onEpochBegin",
  ontrainstart: "onTrainBegin",
  onvalidationend: "onEvalEnd",
  onvalidationstart: "onEvalBegin",
  ontrainbatchend: "onBatchEnd",
  ontrainbatchstart: "onBatchBegin",
};

/** The closest of `known` to `name`, or undefined when nothing is close enough to be a typo. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  const options = [...known];
  const alias = ALIASES[wanted.replaceAll("_", "")];
  if (alias !== undefined && options.includes(alias)) return alias;
  let best: string | undefined;
  // More than half of a short name wrong is another word, not a typo.
  let bestDistance = Math.min(Math.max(2, Math.floor(name.length / 3)) + 1, Math.ceil(name.length / 2));
  for (const candidate of options) {
    const d = distance(wanted, candidate.toLowerCase());
    if (d < bestDistance) [best, bestDistance] = [candidate, d];
  }
  return best;
}

/** ` Did you mean \`x\`?` or an empty string, to append to a message. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const hit = nearest(name, known);
  return hit === undefined ? "" : ` Did you mean \`${hit}\`?`;
}

/**
 * The names of the loaders in the trainer's option `eval`, in the order of evaluation; a single loader is called `val`.
 * A hook that compares metrics does so after the last one, when every metric is of the same evaluation.
 */
export function evalLoaderNames(option: unknown): string[] {
  const loaders = (option ?? {}) as Readonly<Record<string, unknown>>;
  return typeof loaders.next === "function" ? ["val"] : Object.keys(loaders);
}
