// Precision, recall and F1 from counts by class.
import { component } from "../../core/component.ts";
import { ProgramError } from "../../core/errors.ts";
import type { ArrayMetric } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { CLASS_CHECKS, className, type ClassOptions, decide, expectClasses, roomFor } from "./decisions.ts";

/** Options of `precision`, `recall` and `f1`. */
export interface ClassScoreOptions extends ClassOptions {
  /**
   * One number from those of the classes. `binary`: that of class 1, or of yes. `macro`: their mean over the classes that
   * occur in labels or decisions. `weighted`: their mean, weighted by how often each class occurs. `micro`: from the
   * counts of all classes together. Default: `binary` for two classes and `macro` for others.
   */
  readonly average?: "binary" | "macro" | "micro" | "weighted";
  /** Reports each class too: `val/f1/cat` (default false). */
  readonly perClass?: boolean;
}

const CHECKS = {
  ...CLASS_CHECKS,
  average: is.oneOf("binary", "macro", "micro", "weighted"),
  perClass: is.boolean,
};

/** Of a class: how many were right, how many were chosen, how many there are. */
type Score = (right: number, chosen: number, actual: number) => number;

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/** The share of the decisions for a class that are right; 0 where there are none. */
export const precision = /* @__PURE__ */ component(
  { kind: "metric", name: "precision", takes: () => ({ options: CHECKS }) },
  (options: ClassScoreOptions = {}): ArrayMetric =>
    classScore("precision", options, (right, chosen) => share(right, chosen)),
);

/** The share of a class that is found; 0 where there is none. `recall({ average: "macro" })` is balanced accuracy. */
export const recall = /* @__PURE__ */ component(
  { kind: "metric", name: "recall", takes: () => ({ options: CHECKS }) },
  (options: ClassScoreOptions = {}): ArrayMetric =>
    classScore("recall", options, (right, _chosen, actual) => share(right, actual)),
);

/** The harmonic mean of precision and recall. */
export const f1 = /* @__PURE__ */ component(
  { kind: "metric", name: "f1", takes: () => ({ options: CHECKS }) },
  (options: ClassScoreOptions = {}): ArrayMetric =>
    classScore("f1", options, (right, chosen, actual) => share(2 * right, chosen + actual)),
);

function classScore(owner: string, options: ClassScoreOptions, score: Score): ArrayMetric {
  const { names, perClass = false } = options;
  return {
    size: 3 * roomFor(options),
    ...(!names && { named: (known: readonly string[]) => classScore(owner, { ...options, names: known }, score) }),
    ...(perClass && { values: ["", ...(names ?? ["*"])] }),
    update(outputs, batch) {
      const { reading, chosen, actual, weight } = decide(owner, outputs, batch, options);
      const classes = chosen.shape[1]!;
      expectClasses(owner, classes, options);
      if (options.average === "binary" && (reading === "labels" || classes !== 2))
        throw new ProgramError(
          `${owner}: \`average: "binary"\` is for two classes, and the model has ${classes} ${reading}. Say "macro", "micro" or "weighted".`,
        );
      // `compute` tells labels, which are averaged over all, from classes by this dimension.
      const shape = reading === "labels" ? [1, classes] : [classes];
      const total = (counts: typeof chosen) => counts.sum(0).reshape(shape);
      const weighed = chosen.mul(weight.ref);
      return {
        right: total(weighed.ref.mul(actual.ref)),
        chosen: total(weighed),
        actual: total(actual.mul(weight)),
      };
    },
    compute({ right, chosen, actual }) {
      const counts = { right: right!.data, chosen: chosen!.data, actual: actual!.data };
      const overall = averaged(score, counts, options.average, right!.shape.length === 2);
      if (!perClass) return overall;
      const values: Record<string, number> = { "": overall };
      counts.right.forEach((_, i) => {
        values[className(names, i)] = score(counts.right[i]!, counts.chosen[i]!, counts.actual[i]!);
      });
      return values;
    },
  };
}

type Counts = Readonly<Record<"right" | "chosen" | "actual", Float64Array>>;

const sum = (values: Iterable<number>): number => Array.from(values).reduce((total, value) => total + value, 0);

function averaged(
  score: Score,
  { right, chosen, actual }: Counts,
  average: ClassScoreOptions["average"],
  areLabels: boolean,
): number {
  const isBinary = right.length === 2 && !areLabels;
  const scores = Array.from(right, (each, i) => score(each, chosen[i]!, actual[i]!));
  const how = average ?? (isBinary ? "binary" : "macro");
  if (how === "binary") return scores[1]!;
  if (how === "micro") return score(sum(right), sum(chosen), sum(actual));
  if (how === "weighted") return share(sum(scores.map((each, i) => each * actual[i]!)), sum(actual));
  const occurring = scores.filter((_, i) => areLabels || chosen[i]! + actual[i]! > 0);
  return share(sum(occurring), occurring.length);
}
