// Running sums: loss and train metrics are added up inside the step, so that nobody has to read them every step.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import type { Metric, Outputs, Tensor, TensorBatch, Tensors } from "../../core/model.ts";
import { show } from "../../core/options.ts";
import { refAll } from "../problem.ts";

/** Room for one metric's sums. The keys are known only once the program is traced, the size must be known before. */
const SLOTS = 8;

/** Where each metric's sums are in the one vector: slot 0 is loss × weight, then `SLOTS` for each metric. */
export class SumsLayout {
  readonly size: number;
  readonly #metrics: readonly (readonly [string, Metric])[];
  readonly #keys = new Map<string, readonly string[]>();

  constructor(metrics: Readonly<Record<string, Metric>>) {
    this.#metrics = Object.entries(metrics);
    this.size = 1 + SLOTS * this.#metrics.length;
  }

  /** The sums of one batch, inside a program. Consumes `weight`; takes the rest by reference. */
  ofBatch(loss: Tensor, weight: Tensor, outputs: Outputs, batch: TensorBatch): Tensor {
    // jax-js's jit writes a constant, such as a count, into every slot of a stack. Adding this makes it depend on data.
    const zero = weight.ref.mul(0);
    const terms = [loss.ref.mul(weight)];
    for (const [name, metric] of this.#metrics) {
      const kept = Object.fromEntries(Object.entries(batch).map(([key, tensor]) => [key, tensor.ref]));
      const update = sumsOf(name, () => metric.update(refAll(outputs), kept));
      this.#keys.set(
        name,
        update.map(([key]) => key),
      );
      terms.push(...update.map(([, value]) => value.astype(np.float32).add(zero.ref)));
      while ((terms.length - 1) % SLOTS !== 0) terms.push(np.zeros([]));
    }
    return terms.length === 1 ? terms[0]!.reshape([1]) : np.stack(terms);
  }

  /** Names and values of the metrics from totals over a batch, an epoch or an evaluation. */
  compute(totals: Float64Array, weight: number): { loss: number; metrics: Record<string, number> } {
    const metrics = Object.fromEntries(
      this.#metrics.map(([name, metric], m) => {
        const keys = this.#keys.get(name) ?? [];
        return [name, metric.compute(Object.fromEntries(keys.map((key, i) => [key, totals[1 + m * SLOTS + i]!])))];
      }),
    );
    return { loss: totals[0]! / weight, metrics };
  }
}

/** Training leaves out the metrics that are for evaluations alone. */
export interface SumsLayouts {
  readonly train: SumsLayout;
  readonly eval: SumsLayout;
}

export function sumsLayouts(metrics: Readonly<Record<string, Metric>>): SumsLayouts {
  const trained = Object.entries(metrics).filter(([, metric]) => !metric.evalOnly);
  return { train: new SumsLayout(Object.fromEntries(trained)), eval: new SumsLayout(metrics) };
}

/** What a metric's update returned, checked: a few scalars by name. */
function sumsOf(name: string, update: () => Tensors): [string, Tensor][] {
  let sums: unknown;
  try {
    sums = update();
  } catch (cause) {
    throw new ProgramError(`Metric \`${name}\` failed in update(): ${messageOf(cause)}`, { cause });
  }
  const entries = typeof sums === "object" && sums !== null ? Object.entries(sums as Tensors) : [];
  const odd = entries.find(([, value]) => value?.shape === undefined || value.shape.length > 0);
  if (odd || entries.length === 0 || entries.length > SLOTS) {
    const got = odd
      ? `\`${odd[0]}\` is ${odd[1]?.shape ? `of shape [${odd[1].shape.join(", ")}]` : show(odd[1])}`
      : `got ${show(sums)}`;
    throw new ProgramError(
      `Metric \`${name}\`: update() must return 1 to ${SLOTS} scalar arrays by name, such as { correct, count }; ${got}.`,
    );
  }
  return entries;
}
