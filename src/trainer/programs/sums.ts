// Running sums: loss and train metrics are added up inside the step, so that nobody has to read them every step.
import { numpy as np } from "@jax-js/jax";
import { type HostArray, sizeOf } from "../../core/arrays.ts";
import { ProgramError } from "../../core/errors.ts";
import type { AnyMetric, ArrayMetric, Figure, Metric, Outputs, Tensor, TensorBatch } from "../../core/model.ts";
import { isArrayMetric, isRowMetric, namedValues, tensorsIn, updateOf } from "../metrics/metric-kinds.ts";
import { show } from "../../core/options.ts";

/** Room for the scalars of one metric. Their names are known only once the program is traced, the size must be before. */
const SLOTS = 8;

type SummedMetric = Metric | ArrayMetric;

/** A metric's room in the vector, and what is in it once a program was traced. */
interface Room {
  readonly name: string;
  readonly metric: SummedMetric;
  readonly at: number;
  readonly size: number;
  sums?: readonly { readonly key: string; readonly shape: readonly number[] }[];
}

/** Mean loss and metrics over batches. */
export interface Averages {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** What an evaluation has found. */
export interface Evaluated extends Averages {
  readonly figures: Readonly<Record<string, Figure>>;
}

/** Where each metric's sums are in the one vector: slot 0 is loss × weight, then the scalars, then the arrays. */
export class SumsLayout {
  readonly size: number;
  readonly #rooms: readonly Room[];

  constructor(metrics: Readonly<Record<string, SummedMetric>>) {
    let at = 1;
    const room = ([name, metric]: [string, SummedMetric]): Room => {
      const size = isArrayMetric(metric) ? metric.size : SLOTS;
      at += size;
      return { name, metric, at: at - size, size };
    };
    const all = Object.entries(metrics);
    const scalars = all.filter(([, metric]) => !isArrayMetric(metric)).map(room);
    this.#rooms = [...scalars, ...all.filter(([, metric]) => isArrayMetric(metric)).map(room)];
    this.size = at;
  }

  /** The sums of one batch, inside a program. Consumes `weight`; takes the rest by reference. */
  ofBatch(loss: Tensor, weight: Tensor, outputs: Outputs, batch: TensorBatch): Tensor {
    // jax-js's jit writes a constant, such as a count, into every slot of a stack. Adding this makes it depend on data.
    const zero = weight.ref.mul(0);
    const scalars = [loss.ref.mul(weight)];
    const arrays: Tensor[] = [];
    for (const room of this.#rooms) {
      const sums = sumsOf(room, outputs, batch).map(([, sum]) => sum.astype(np.float32).add(zero.ref));
      if (isArrayMetric(room.metric)) {
        arrays.push(...sums.map((sum) => sum.reshape([sum.size])));
        const left = room.size - sums.reduce((total, { size }) => total + size, 0);
        if (left > 0) arrays.push(np.zeros([left]));
      } else {
        scalars.push(...sums);
        while ((scalars.length - 1) % SLOTS !== 0) scalars.push(np.zeros([]));
      }
    }
    const head = scalars.length === 1 ? scalars[0]!.reshape([1]) : np.stack(scalars);
    return arrays.length === 0 ? head : np.concatenate([head, ...arrays]);
  }

  /** Names and values of the metrics from totals over a batch, an epoch or an evaluation. */
  compute(totals: Float64Array, weight: number): Averages {
    const metrics: Record<string, number> = {};
    for (const { name, metric, ...room } of this.#rooms) {
      if (!isArrayMetric(metric)) {
        const sums = (room.sums ?? []).map(({ key }, i) => [key, totals[room.at + i]!]);
        metrics[name] = metric.compute(Object.fromEntries(sums));
        // Before a program was traced, nobody knows the shapes of its arrays.
      } else if (room.sums) Object.assign(metrics, namedValues(name, metric.compute(arraysOf(room, totals))));
    }
    return { loss: totals[0]! / weight, metrics };
  }

  /** The same with what metrics draw of these totals. */
  evaluated(totals: Float64Array, weight: number): Evaluated {
    const figures: Record<string, Figure> = {};
    for (const { name, metric, ...room } of this.#rooms) {
      if (isArrayMetric(metric) && metric.figure && room.sums) figures[name] = metric.figure(arraysOf(room, totals));
    }
    return { ...this.compute(totals, weight), figures };
  }
}

/** Training leaves out the metrics that are for evaluations alone. */
export interface SumsLayouts {
  readonly train: SumsLayout;
  readonly eval: SumsLayout;
}

export function sumsLayouts(metrics: Readonly<Record<string, AnyMetric>>): SumsLayouts {
  const summed = Object.entries(metrics).filter((entry): entry is [string, SummedMetric] => !isRowMetric(entry[1]));
  const trained = summed.filter(([, metric]) => !metric.evalOnly);
  return { train: new SumsLayout(Object.fromEntries(trained)), eval: new SumsLayout(Object.fromEntries(summed)) };
}

/** A metric's arrays from the totals. */
function arraysOf({ at, sums = [] }: Pick<Room, "at" | "sums">, totals: Float64Array) {
  const arrays: Record<string, HostArray<Float64Array>> = {};
  let from = at;
  for (const { key, shape } of sums) {
    arrays[key] = { data: totals.slice(from, from + sizeOf(shape)), shape };
    from += sizeOf(shape);
  }
  return arrays;
}

/** What a metric's update returned, checked: a few scalars by name, or arrays that fit its room. */
function sumsOf(room: Room, outputs: Outputs, batch: TensorBatch): [string, Tensor][] {
  const { name, metric, size } = room;
  const found = updateOf(name, metric, outputs, batch);
  const sums = tensorsIn(found);
  const takesArrays = isArrayMetric(metric);
  const odd = sums.find(([, value]) => value?.shape === undefined || (!takesArrays && value.shape.length > 0));
  if (odd || sums.length === 0 || (!takesArrays && sums.length > SLOTS)) {
    const got = odd
      ? `\`${odd[0]}\` is ${odd[1]?.shape ? `of shape [${odd[1].shape.join(", ")}]` : show(odd[1])}`
      : `got ${show(found)}`;
    throw new ProgramError(
      takesArrays
        ? `Metric \`${name}\`: update() must return arrays by name, such as { right, wrong }; ${got}.`
        : `Metric \`${name}\`: update() must return 1 to ${SLOTS} scalar arrays by name, such as { correct, count }; ${got}.`,
    );
  }
  const shapes = sums.map(([key, { shape }]) => ({ key, shape: [...shape] }));
  const total = shapes.reduce((count, { shape }) => count + sizeOf(shape), 0);
  if (total > size)
    throw new ProgramError(`Metric \`${name}\`: its sums have ${total} numbers, and its \`size\` is ${size}.`);
  const before = room.sums && JSON.stringify(room.sums);
  if (takesArrays && before !== undefined && before !== JSON.stringify(shapes))
    throw new ProgramError(
      `Metric \`${name}\`: its sums have other shapes than before, ${JSON.stringify(shapes)} instead of ${before}, so they cannot be added. Does the model return another number of classes for loader batches like this one?`,
    );
  room.sums = shapes;
  return sums;
}
