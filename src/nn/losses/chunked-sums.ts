// A sum over deferred logits, some rows at a time: each part of the logits is gone before the next one is computed. The
// gradient is computed beside the sum, as long as a part is there, so that no pass needs all of them.
import { numpy as np, valueAndGrad } from "@jax-js/jax";
import type { Tensor, Tensors } from "../../core/model.ts";
import { differentiated } from "../derivatives.ts";
import { currentLowering, marked, STORED } from "../marks.ts";

/** Logits are held for at most so many numbers at once (128 MB; on a large GPU 1 GB), unless that made too many parts to compile. */
const [MOST_NUMBERS, MOST_ON_LARGE] = [2 ** 25, 2 ** 28];
const MOST_CHUNKS = 16;

interface Parts {
  readonly hidden: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | undefined;
}

interface RowSums {
  readonly sumOf: (logits: Tensor, labels: Tensor, weights: Tensor | undefined) => Tensor;
  /** Does not depend on the logits. Outside of the derivative, which nothing but its value may leave. */
  readonly weightOf: (labels: Tensor, weights: Tensor | undefined) => Tensor;
}

/** Hidden states are [rows, features], labels and weights [rows]. Consumes all of them. `chunk`: rows at a time. */
export function chunkedSums(
  { hidden, weight, bias }: Parts,
  labels: Tensor,
  weights: Tensor | undefined,
  chunk: number | undefined,
  { sumOf, weightOf }: RowSums,
): { sum: Tensor; count: Tensor } {
  const rows = hidden.shape[0]!;
  const chunks = chunkRanges(rows, chunk ?? defaultChunk(rows, weight.shape[0]!));
  const some = ([from, to]: Range) => [labels.ref.slice([from, to]), weights?.ref.slice([from, to])] as const;
  /** The sum over one part. Consumes what is given. */
  const partSum = (given: Tensors, range: Range): Tensor => {
    const product = np.inner(given.hidden!, given.weight!);
    return sumOf(given.bias ? product.add(given.bias) : product, ...some(range));
  };
  const count = total(chunks.map((range) => weightOf(...some(range))));
  const names = ["hidden", "weight", ...(bias ? ["bias"] : [])];
  const arrays = [hidden, weight, ...(bias ? [bias] : [])];
  const open = differentiated(arrays);
  const all = Object.fromEntries((open?.primals ?? arrays).map((array, i) => [names[i]!, array]));
  const part = ([from, to]: Range): Tensors =>
    Object.fromEntries(
      Object.entries(all).map(([name, x]) => [name, name === "hidden" ? x.ref.slice([from, to]) : x.ref]),
    );
  const release = (): void => {
    for (const array of [...Object.values(all), labels, weights]) array?.dispose();
  };

  if (!open) {
    const sum = total(chunks.map((range) => partSum(part(range), range)));
    release();
    return { sum, count };
  }
  const isFixed = (name: string): boolean => open.tangents[names.indexOf(name)] === undefined;
  const sums: Tensor[] = [];
  const hiddenGradients: Tensor[] = [];
  const gradients: Tensors = {};
  for (const range of chunks) {
    const given = Object.entries(part(range));
    const fixed = Object.fromEntries(given.filter(([name]) => isFixed(name)));
    const moving = Object.fromEntries(given.filter(([name]) => !isFixed(name)));
    const [sum, grads] = (valueAndGrad as unknown as ValueAndGrad)((at) => partSum({ ...fixed, ...at }, range))(moving);
    sums.push(sum);
    for (const [name, gradient] of Object.entries(grads)) {
      if (name === "hidden") hiddenGradients.push(gradient);
      // Stored at once: a sum over all parts at the end would need all of them.
      else gradients[name] = gradients[name] ? marked(gradients[name].add(gradient), STORED) : gradient;
    }
  }
  release();
  if (hiddenGradients.length > 0) gradients.hidden = np.concatenate(hiddenGradients, 0);
  const tangents = Object.entries(gradients).map(([name, gradient]) =>
    gradient.mul(open.tangents[names.indexOf(name)]!).sum(),
  );
  return { sum: open.join(total(sums), total(tangents)), count };
}

type ValueAndGrad = (fn: (at: Tensors) => Tensor) => (at: Tensors) => [Tensor, Tensors];
type Range = readonly [from: number, to: number];

const total = (terms: readonly Tensor[]): Tensor => terms.reduce((a, b) => a.add(b));

function defaultChunk(rows: number, classes: number): number {
  const most = currentLowering()?.isLarge ? MOST_ON_LARGE : MOST_NUMBERS;
  const chunks = Math.min(Math.ceil((rows * classes) / most), MOST_CHUNKS);
  return Math.ceil(rows / Math.max(chunks, 1));
}

function chunkRanges(rows: number, chunk: number): Range[] {
  const size = Math.max(chunk, 1);
  const count = Math.max(Math.ceil(rows / size), 1);
  return Array.from({ length: count }, (_, i) => [i * size, Math.min((i + 1) * size, rows)]);
}
