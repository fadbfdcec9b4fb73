// What a classifier decides, in one form for all metrics: one logit for yes or no, logits of classes, or several labels.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import type { Outputs, Tensor, TensorBatch } from "../../core/model.ts";
import { is, type Check } from "../../core/options.ts";
import { showShape } from "../layer.ts";
import { classify, single, targetsOf } from "../targets.ts";
import { sampleWeights } from "../losses/weights.ts";

/** Options of metrics over decisions. */
export interface DecisionOptions {
  /** The probability above which one logit, or one of several labels, means yes (default 0.5). */
  readonly threshold?: number;
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

export const DECISION_CHECKS: Readonly<Record<keyof DecisionOptions, Check>> = {
  threshold: is.between(0, 1),
  ignoreIndex: is.whole,
};

/** Options of metrics that count by class. */
export interface ClassOptions extends DecisionOptions {
  /** Names of the classes, in their order. */
  readonly names?: readonly string[];
  /** The most classes there may be, if they have no `names` (default 100). */
  readonly classes?: number;
}

export const CLASS_CHECKS: Readonly<Record<keyof ClassOptions, Check>> = {
  ...DECISION_CHECKS,
  names: is.arrayOf(is.name),
  classes: is.wholeFrom(2),
};

/** Without `names` and `classes`, there is room for so many classes. */
const ROOM = 100;

export const roomFor = ({ names, classes = ROOM }: ClassOptions): number => names?.length ?? classes;

/** How the outputs are read: one logit or two classes, several classes, or several labels that each apply or not. */
export type Reading = "logit" | "classes" | "labels";

/** Outputs and targets of the same shape are one logit each; otherwise the last dimension of the outputs is the class. */
function readingOf(outputs: Tensor, targets: Tensor): Reading {
  if (showShape(outputs) !== showShape(targets))
    return outputs.shape.at(-1) === 1 && outputs.ndim === targets.ndim + 1 ? "logit" : "classes";
  return outputs.ndim > 1 && outputs.shape.at(-1)! > 1 ? "labels" : "logit";
}

/** The model's only output and the targets, which a metric does not own. */
export function outputsAndTargets(owner: string, outputs: Outputs, batch: TensorBatch) {
  const x = single(owner, outputs);
  const y = targetsOf(owner, batch);
  return { x, y, reading: readingOf(x, y) };
}

/** Decisions by row and class. */
export interface Decisions {
  readonly reading: Reading;
  /** [rows, classes]: 1 for a class that was chosen, and for one that is right. NaN chooses none. */
  readonly chosen: Tensor;
  readonly actual: Tensor;
  /** [rows, 1], or [rows, labels]: weights of samples, 0 for ignored labels. */
  readonly weight: Tensor;
}

/** Consumes the outputs and leaves the batch to its owner. */
export function decide(
  owner: string,
  outputs: Outputs,
  batch: TensorBatch,
  { threshold = 0.5, ignoreIndex = -100 }: DecisionOptions,
): Decisions {
  const { x, y, reading } = outputsAndTargets(owner, outputs, batch);
  if (reading === "classes") {
    const { logits, atLabel, counted, inRange } = classify(owner, x, y, ignoreIndex);
    inRange.dispose();
    const classes = logits.shape.at(-1)!;
    const weight = weightOf(owner, batch, counted.shape, counted);
    return {
      reading,
      chosen: argmaxOneHot(logits.reshape([-1, classes])),
      actual: atLabel.astype(np.float32).reshape([-1, classes]),
      weight: weight.reshape([-1, 1]),
    };
  }
  const width = reading === "labels" ? x.shape.at(-1)! : 1;
  const counted = isCounted(y, ignoreIndex);
  const weight = weightOf(owner, batch, y.shape, counted).reshape([-1, width]);
  const limit = Math.log(threshold / (1 - threshold));
  const logit = x.reshape([-1, width]);
  const yes = logit.ref.greater(limit).astype(np.float32);
  const isYes = y.astype(np.float32).reshape([-1, width]).greater(0.5).astype(np.float32);
  if (reading === "labels") {
    logit.dispose();
    return { reading, chosen: yes, actual: isYes, weight };
  }
  const no = logit.lessEqual(limit).astype(np.float32);
  const isNo = isYes.ref.neg().add(1);
  return { reading, chosen: np.concatenate([no, yes], 1), actual: np.concatenate([isNo, isYes], 1), weight };
}

/** Is a target none of the ignored ones? Does not consume it; of any type, so compared as a float. */
export const isCounted = (y: Tensor, ignoreIndex: number): Tensor => y.ref.astype(np.float32).notEqual(ignoreIndex);

/** Weights in the shape of the targets: 0 where a label is not `counted`, which is consumed. */
export function weightOf(owner: string, batch: TensorBatch, shape: readonly number[], counted: Tensor): Tensor {
  const weights = sampleWeights(owner, batch, shape);
  const own = counted.astype(np.float32);
  return weights ? own.mul(weights) : own;
}

/** 1 at the largest of each row, the first of equal ones; nowhere in a row of NaN. Consumes the logits [rows, classes]. */
export function argmaxOneHot(logits: Tensor): Tensor {
  const classes = logits.shape[1]!;
  const largest = logits.ref.max(-1, { keepdims: true });
  const index = np.arange(classes).reshape([1, classes]);
  const first = np.where(logits.equal(largest), index.ref, classes).min(-1, { keepdims: true });
  return index.equal(first).astype(np.float32);
}

/** The error for a model with more classes than a metric has room for, or another number than it has names for. */
export function expectClasses(owner: string, classes: number, options: ClassOptions): void {
  const { names } = options;
  if (names && names.length !== classes)
    throw new ProgramError(`${owner}: there are ${names.length} \`names\` for ${classes} classes.`);
  const room = roomFor(options);
  if (classes > room)
    throw new ProgramError(
      `${owner}: there is room for ${room} classes, and the model has ${classes}. Give it \`classes: ${classes}\`, or \`names\`.`,
    );
}

export const className = (names: readonly string[] | undefined, index: number): string =>
  names?.[index] ?? String(index);
