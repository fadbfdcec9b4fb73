// What metrics of whole evaluations keep of every row, computed inside the evaluation's program.
import { ProgramError } from "../../core/errors.ts";
import type { AnyMetric, Outputs, RowMetric, TensorBatch, Tensors } from "../../core/model.ts";
import { show } from "../../core/options.ts";
import { isRowMetric, tensorsIn, updateOf } from "./metric-kinds.ts";

export class RowsLayout {
  readonly metrics: readonly (readonly [string, RowMetric])[];

  constructor(metrics: Readonly<Record<string, AnyMetric>>) {
    this.metrics = Object.entries(metrics).filter((entry): entry is [string, RowMetric] => isRowMetric(entry[1]));
  }

  /** The arrays of one batch by metric and name, inside a program. Takes everything by reference. */
  ofBatch(outputs: Outputs, batch: TensorBatch): Record<string, Tensors> {
    return Object.fromEntries(this.metrics.map(([name, metric]) => [name, rowsOf(name, metric, outputs, batch)]));
  }
}

function rowsOf(name: string, metric: RowMetric, outputs: Outputs, batch: TensorBatch): Tensors {
  const found = updateOf(name, metric, outputs, batch);
  const arrays = tensorsIn(found);
  const count = arrays[0]?.[1]?.shape?.[0];
  const odd = arrays.find(([, value]) => value?.shape?.[0] === undefined || value.shape[0] !== count);
  if (arrays.length > 0 && !odd) return Object.fromEntries(arrays);
  const got = odd
    ? `\`${odd[0]}\` is ${odd[1]?.shape ? `of shape [${odd[1].shape.join(", ")}]` : show(odd[1])}`
    : `got ${show(found)}`;
  throw new ProgramError(
    `Metric \`${name}\`: update() must return arrays by name with the same number of rows, such as { scores, labels }; ${got}.`,
  );
}
