// What losses and metrics share: checks of a model's outputs and a batch's targets.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../core/errors.ts";
import type { Outputs, Tensor, TensorBatch } from "../core/model.ts";
import { logitsOf } from "./deferred-logits.ts";
import { expectIndices } from "./indices.ts";
import { expectWhole, isIndex, showShape } from "./layer.ts";

/** The model's only output. */
export function single(owner: string, given: Outputs): Tensor {
  const outputs = logitsOf(given);
  if (typeof (outputs as Tensor).dispose === "function") return outputs as Tensor;
  const names = Object.keys(outputs).join(", ");
  throw new ProgramError(
    `${owner}: the model returns several outputs (${names}); choose one, as in (outputs, y, batch) => ${owner}()(outputs.logits, y, batch)`,
  );
}

/** A reference to `batch.y` for a metric, which does not own the batch. */
export function targetsOf(owner: string, batch: TensorBatch): Tensor {
  if (batch.y) return batch.y.ref;
  throw new ProgramError(`${owner}: the batch has no \`y\` (it has ${Object.keys(batch).join(", ")})`);
}

/** The targets of a loss are undefined if the batch has no `y`. */
export function expectTargets(owner: string, targets: Tensor | undefined): void {
  if (targets === undefined)
    throw new ProgramError(
      `${owner}: the batch has no \`y\` to compare the outputs with. Name the targets y, or give a loss that finds them: (outputs, _, batch) => ${owner}()(outputs, batch.labels, batch)`,
    );
}

/** outputs − targets, element by element. */
export function difference(owner: string, outputs: Outputs, targets: Tensor): Tensor {
  const x = single(owner, outputs);
  expectSameShape(owner, x, targets);
  return x.sub(targets);
}

export function expectSameShape(owner: string, outputs: Tensor, targets: Tensor): void {
  expectTargets(owner, targets);
  if (showShape(outputs) !== showShape(targets))
    throw new ProgramError(
      `${owner}: outputs ${showShape(outputs)} and targets ${showShape(targets)} must have the same shape`,
    );
}

/** Targets of one logit each, [rows, 1], may be [rows]: labels of two classes are, as a preprocessor makes them. */
export const targetsOfLogits = (logits: Tensor, targets: Tensor): Tensor =>
  logits.shape.at(-1) === 1 && targets?.ndim === logits.ndim - 1 ? targets.reshape([...targets.shape, 1]) : targets;

/** Logits and labels of a classifier, prepared for a loss or metric. */
export interface Classified {
  /** [..., classes] */
  readonly logits: Tensor;
  /** [..., classes], true at the label. */
  readonly atLabel: Tensor;
  /** [...], false where the label is `ignoreIndex`. */
  readonly counted: Tensor;
  /** [...], true where the label is one of the classes. */
  readonly inRange: Tensor;
}

/** Compares labels with 0, 1, 2, …: unlike a gather, this gives no garbage for labels out of range. */
export function classify(owner: string, outputs: Outputs, labels: Tensor, ignoreIndex: number): Classified {
  const logits = single(owner, outputs);
  expectTargets(owner, labels);
  expectClassIndices(owner, logits, labels, ignoreIndex);
  return { logits, ...compareLabels(logits.shape.at(-1)!, labels, ignoreIndex) };
}

/** The same of the labels alone, without checks. */
export function compareLabels(classes: number, labels: Tensor, ignoreIndex: number): Omit<Classified, "logits"> {
  const label = labels.astype(np.int32);
  const index = np.arange(classes).reshape([...labels.shape.map(() => 1), classes]);
  const atLabel = index.equal(label.ref.reshape([...label.shape, 1]));
  const inRange = isIndex(label.ref, classes);
  return { atLabel, inRange, counted: label.notEqual(ignoreIndex) };
}

/** Checks that labels [...] are whole numbers and fit logits [..., classes]. Consumes neither. */
export function expectClassIndices(
  owner: string,
  logits: { readonly shape: readonly number[] },
  labels: Tensor,
  ignoreIndex: number,
): void {
  if (showShape({ shape: logits.shape.slice(0, -1) }) !== showShape(labels))
    throw new ProgramError(
      `${owner}: expected logits [..., classes] and labels [...], got ${showShape(logits)} and ${showShape(labels)}`,
    );
  expectWhole(owner, "labels", labels);
  expectIndices(labels, { owner, what: "label", count: logits.shape.at(-1)!, ignoreIndex });
}
