// A random forest for regression over coordinates from 0 to 1, grown to ask how its predictions vary with each of them.
import { Rng } from "../data/random.ts";

/** Where a tree predicts the same: a box, by its lower and upper corner. */
interface Leaf {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly value: number;
}

export interface Tree {
  readonly leaves: readonly Leaf[];
  /** The rows that it was not grown from: what it says about them, it has not been told. */
  readonly unseen: ReadonlySet<number>;
}

/** Fewer rows than this are not split any further: two are noise. */
const LEAST_ROWS = 6;

/** Grows trees, each from as many rows as there are, drawn with replacement. */
export function growForest(rows: readonly Float64Array[], targets: Float64Array, trees: number): readonly Tree[] {
  return Array.from({ length: trees }, (_, i) => {
    const rng = new Rng(i);
    const drawn = rows.map(() => rng.int(rows.length));
    const seen = new Set(drawn);
    const dimensions = rows[0]!.length;
    const leaves: Leaf[] = [];
    const grow = (members: readonly number[], from: Float64Array, to: Float64Array): void => {
      const split = members.length < LEAST_ROWS ? undefined : bestSplit(members, rows, targets);
      if (split === undefined) {
        leaves.push({ from, to, value: mean(members, targets) });
        return;
      }
      const { dimension, at } = split;
      grow(
        members.filter((row) => rows[row]![dimension]! < at),
        from,
        to.with(dimension, at),
      );
      grow(
        members.filter((row) => rows[row]![dimension]! >= at),
        from.with(dimension, at),
        to,
      );
    };
    grow(drawn, new Float64Array(dimensions), new Float64Array(dimensions).fill(1));
    return { leaves, unseen: new Set([...rows.keys()].filter((row) => !seen.has(row))) };
  });
}

export function predict({ leaves }: Tree, row: Float64Array): number {
  return leaves.find(({ from, to }) => row.every((x, d) => x >= from[d]! && (x < to[d]! || to[d] === 1)))!.value;
}

const mean = (members: readonly number[], targets: Float64Array): number =>
  members.reduce((sum, row) => sum + targets[row]!, 0) / members.length;

/** The cut after which the two sides' sums of squares are least; undefined where nothing can be cut. */
function bestSplit(
  members: readonly number[],
  rows: readonly Float64Array[],
  targets: Float64Array,
): { readonly dimension: number; readonly at: number } | undefined {
  const total = members.reduce((sum, row) => sum + targets[row]!, 0);
  let best: { readonly dimension: number; readonly at: number } | undefined;
  // The sums of squares are least where this is most; without a cut it is what the whole has.
  let most = (total * total) / members.length + 1e-9;
  for (let dimension = 0; dimension < rows[0]!.length; dimension++) {
    const x = (row: number): number => rows[row]![dimension]!;
    const sorted = members.toSorted((a, b) => x(a) - x(b));
    let left = 0;
    for (let i = 1; i < sorted.length; i++) {
      left += targets[sorted[i - 1]!]!;
      const [before, after] = [x(sorted[i - 1]!), x(sorted[i]!)];
      if (before === after) continue;
      const gain = (left * left) / i + (total - left) ** 2 / (sorted.length - i);
      if (gain > most) [best, most] = [{ dimension, at: (before + after) / 2 }, gain];
    }
  }
  return best;
}
