// Which samples an epoch has, and in which order: drawn by weight, or with the classes spread evenly. A function of seed
// and epoch alone, so that a resumed run and every rank of a process group find the same order.
import { DataError } from "../../core/errors.ts";
import type { Check } from "../../core/options.ts";
import { is } from "../../core/options.ts";
import { Rng } from "../random.ts";

/** The values of all samples: a field of theirs, or numbers in the order of the data. */
type PerSample = string | ArrayLike<number>;

/** Replaces `shuffle`. */
export type Sampling =
  /** Draws as many samples as there are, with replacement, each as likely as its weight says. */
  | { readonly weights: PerSample }
  /** The same with weights by which every class is drawn equally often: for classes of very different sizes. */
  | { readonly balanced: PerSample }
  /** Every sample once, with each class spread evenly over the epoch: batches have the classes in the same shares. */
  | { readonly stratified: PerSample };

const KINDS = ["weights", "balanced", "stratified"] as const;
type Kind = (typeof KINDS)[number];

const isPerSample = is.or(is.name, is.arrayOf(is.number));

/** The kind of a sampling and its values. */
const entryOf = (sampling: Sampling): [Kind, PerSample] => Object.entries(sampling)[0] as [Kind, PerSample];

export const SAMPLING_CHECK: Check = {
  expected: "{ weights }, { balanced } or { stratified }, with the name of a field or an array of numbers",
  schema: {
    anyOf: KINDS.map((kind) => ({
      type: "object",
      properties: { [kind]: isPerSample.schema! },
      required: [kind],
      additionalProperties: false,
    })),
  },
  test: (v: unknown) => {
    if (!is.object.test(v)) return false;
    const [[kind, values] = [], ...others] = Object.entries(v as object) as [string, unknown][];
    const isKnown = others.length === 0 && (KINDS as readonly unknown[]).includes(kind);
    return isKnown && (ArrayBuffer.isView(values) || isPerSample.test(values));
  },
};

/** The order of each epoch. `column` finds a field of all samples. */
export function samplingOrder(
  sampling: Sampling,
  count: number,
  column: (field: string) => ArrayLike<number>,
): (epoch: number, seed: number) => Uint32Array {
  const [kind, given] = entryOf(sampling);
  const values = typeof given === "string" ? column(given) : given;
  const what = `DataLoader: \`sampling.${kind}\``;
  if (values.length !== count)
    throw new DataError(`${what} must have one number for each of ${count} samples, and has ${values.length}.`);
  if (kind === "stratified") return stratifiedOrder(values);
  const weights = kind === "weights" ? Float64Array.from(values) : balancing(values);
  const odd = weights.findIndex((weight) => !(weight >= 0 && weight < Infinity));
  if (odd >= 0) throw new DataError(`${what} is ${weights[odd]} for sample ${odd}; weights are numbers ≥ 0.`);
  const sums = weights;
  for (let i = 1; i < count; i++) sums[i]! += sums[i - 1]!;
  if (sums[count - 1] === 0) throw new DataError(`${what} is 0 for every sample, so that none can be drawn.`);
  return weightedOrder(sums);
}

/** Weights by which all classes are equally likely. */
function balancing(labels: ArrayLike<number>): Float64Array {
  const counts = new Map<number, number>();
  for (let i = 0; i < labels.length; i++) counts.set(labels[i]!, (counts.get(labels[i]!) ?? 0) + 1);
  return Float64Array.from({ length: labels.length }, (_, i) => 1 / counts.get(labels[i]!)!);
}

/** Draws with replacement; `sums` are those of the weights up to and with each sample. */
const weightedOrder =
  (sums: Float64Array) =>
  (epoch: number, seed: number): Uint32Array => {
    const rng = new Rng(seed, epoch);
    const total = sums.at(-1)!;
    return Uint32Array.from(sums, () => {
      // 53 bits: 32 would not reach every sample of large data.
      const draw = ((rng.uint32() * 2 ** 21 + (rng.uint32() >>> 11)) / 2 ** 53) * total;
      let [low, high] = [0, sums.length - 1];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (sums[middle]! > draw) high = middle;
        else low = middle + 1;
      }
      return low;
    });
  };

/**
 * The samples of a class, in random order, at equal distances over the epoch: any run of samples has its share of each
 * class, to within one. Where a class begins is random, so that small classes do not always meet in the same batch.
 */
function stratifiedOrder(labels: ArrayLike<number>): (epoch: number, seed: number) => Uint32Array {
  const classes = new Map<number, number[]>();
  for (let i = 0; i < labels.length; i++) {
    const members = classes.get(labels[i]!);
    if (members) members.push(i);
    else classes.set(labels[i]!, [i]);
  }
  return (epoch, seed) => {
    const rng = new Rng(seed, epoch);
    const place = new Float64Array(labels.length);
    for (const members of classes.values()) {
      const start = rng.next();
      const order = [...members];
      for (let i = order.length - 1; i >= 0; i--) {
        const j = rng.int(i + 1);
        [order[i], order[j]] = [order[j]!, order[i]!];
        place[order[i]!] = (i + start) / order.length;
      }
    }
    return Uint32Array.from(place.keys()).sort((a, b) => place[a]! - place[b]! || a - b);
  };
}
