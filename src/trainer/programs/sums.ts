// Running sums: loss and train metrics are added up inside the step, so that nobody has to read them every step.
import { numpy as np } from "@jax-js/jax";
import { OptionError } from "../../core/errors.ts";
import type { Metric, Outputs, Tensor, TensorBatch } from "../../core/model.ts";
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

  /** `sums` plus this batch's share, inside a program. Consumes `sums`; takes the rest by reference. */
  add(sums: Tensor, loss: Tensor, weight: Tensor, outputs: Outputs, batch: TensorBatch): Tensor {
    const terms = [loss.ref.mul(weight)];
    for (const [name, metric] of this.#metrics) {
      const kept = Object.fromEntries(Object.entries(batch).map(([key, tensor]) => [key, tensor.ref]));
      const update = Object.entries(metric.update(refAll(outputs), kept));
      if (update.length > SLOTS)
        throw new OptionError(`Metric \`${name}\`: update() returned ${update.length} sums; the most is ${SLOTS}.`);
      this.#keys.set(
        name,
        update.map(([key]) => key),
      );
      terms.push(...update.map(([, value]) => value.astype(np.float32)));
      while ((terms.length - 1) % SLOTS !== 0) terms.push(np.zeros([]));
    }
    return sums.add(terms.length === 1 ? terms[0]!.reshape([1]) : np.stack(terms));
  }

  /** Names and values of the metrics from totals over an epoch or an evaluation. */
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
