// sobol: a low-discrepancy sequence, which covers the space evenly with any number of trials. Better than random with few.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { is } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import type { SpaceTree } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Sampler } from "../types.ts";

/** Options of `sobol`. */
export interface SobolOptions {
  /** Default 0. Another seed gives other points, which are as even. */
  readonly seed?: number;
}

/** The search for direction numbers compares all pairs of dimensions. */
const MAX_DIMENSIONS = 100;

/** @example sobol({ lr: logUniform(1e-4, 1e-1), momentum: uniform(0, 0.99) }, { seed: 1 }) */
export const sobol = /* @__PURE__ */ component(
  {
    kind: "sampler",
    name: "sobol",
    takes: () => ({ args: { space: is.anything }, options: { seed: is.whole }, supplied: ["space"] }),
  },
  (space: Space | SpaceTree, options: SobolOptions = {}): Sampler => {
    const { seed = 0 } = options;
    const whole = Space.of(space);
    const dimensions = whole.parameters.length;
    if (dimensions > MAX_DIMENSIONS) {
      throw new OptionError(
        `sobol: the space has ${dimensions} parameters, and the sequence is good for ${MAX_DIMENSIONS}. Use random.`,
      );
    }
    const directions = sobolDirections(dimensions);
    const keys = directions.map((_, d) => new Rng(seed, d).uint32());
    return {
      name: "sobol",
      suggest: (number) =>
        // The middle of the smallest cell, so that a coordinate is never 0.
        whole.fromUnit(directions.map((of, d) => (scramble(digits(of, number), keys[d]!) + 0.5) / 2 ** 32)),
    };
  },
);

/** The coordinate of a point as 32 binary digits. */
function digits(directions: Uint32Array, number: number): number {
  let sum = 0;
  for (let rest = number >>> 0, bit = 0; rest !== 0; rest >>>= 1, bit++) if (rest & 1) sum ^= directions[bit]!;
  return sum >>> 0;
}

/**
 * Owen scrambling: each digit is flipped depending on those before it, which moves points but keeps one in each cell. On
 * reversed digits a carry only runs upwards, so a hash of additions and products with even numbers does it (Laine and
 * Karras 2011).
 */
function scramble(word: number, key: number): number {
  let x = reverse(word);
  x = (x + key) | 0;
  x ^= Math.imul(x, 0x6c50b47c);
  x ^= Math.imul(x, 0xb82f1e52);
  x ^= Math.imul(x, 0xc7afe638);
  x ^= Math.imul(x, 0x8d22f6e6);
  return reverse(x);
}

function reverse(word: number): number {
  let x = word;
  x = ((x >>> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  x = ((x >>> 2) & 0x33333333) | ((x & 0x33333333) << 2);
  x = ((x >>> 4) & 0x0f0f0f0f) | ((x & 0x0f0f0f0f) << 4);
  x = ((x >>> 8) & 0x00ff00ff) | ((x & 0x00ff00ff) << 8);
  return ((x >>> 16) | (x << 16)) >>> 0;
}

/**
 * Direction numbers are computed rather than tabulated: a primitive polynomial for each dimension and, of several random
 * starts, the one whose plane with each earlier dimension is most even.
 */
interface Dimension {
  /** 32 direction numbers, as fractions of 2³². */
  readonly directions: Uint32Array;
  /** For each of `JUDGED_BITS`, the rows of its generator matrix. */
  readonly matrices: readonly (readonly number[])[];
}

/** How many random starts are tried for each dimension. */
const STARTS = 16;
/** Pairs of dimensions are compared by their first 2⁴, 2⁶ and 2⁸ points. */
const JUDGED_BITS = [4, 6, 8] as const;

const found: Dimension[] = [];

/** The direction numbers of each dimension. They are the same in every run, and computed once. */
export function sobolDirections(dimensions: number): readonly Uint32Array[] {
  if (found.length === 0) found.push(dimensionOf(Uint32Array.from({ length: 32 }, (_, bit) => 2 ** (31 - bit))));
  while (found.length < dimensions) found.push(bestDimension(found.length));
  return found.slice(0, dimensions).map(({ directions }) => directions);
}

function bestDimension(place: number): Dimension {
  const polynomial = primitivePolynomial(place);
  const rng = new Rng(place);
  let best: Dimension | undefined;
  let fewest = Infinity;
  for (let start = 0; start < STARTS; start++) {
    const dimension = dimensionOf(extend(polynomial, rng));
    let defects = 0;
    for (const other of found) {
      defects += planeDefects(dimension, other);
      if (defects >= fewest) break;
    }
    if (defects < fewest) [best, fewest] = [dimension, defects];
  }
  return best!;
}

const dimensionOf = (directions: Uint32Array): Dimension => ({
  directions,
  matrices: JUDGED_BITS.map((bits) => generatorRows(directions, bits)),
});

const primitive: number[] = [];

/** The primitive polynomials over GF(2), lowest first, with a bit for each coefficient; the first is x + 1. */
function primitivePolynomial(place: number): number {
  for (let candidate = (primitive.at(-1) ?? 1) + 2; primitive.length < place; candidate += 2) {
    if (isPrimitive(candidate)) primitive.push(candidate);
  }
  return primitive[place - 1]!;
}

/** Whether the powers of x take all values modulo the polynomial before they return to 1. */
function isPrimitive(polynomial: number): boolean {
  const degree = degreeOf(polynomial);
  const order = 2 ** degree - 1;
  let power = 1;
  for (let i = 1; i <= order; i++) {
    power <<= 1;
    if (power >> degree) power ^= polynomial;
    if (power === 1) return i === order;
  }
  return false;
}

const degreeOf = (polynomial: number): number => 31 - Math.clz32(polynomial);

/** The recurrence of Bratley and Fox, started with random odd numbers. */
function extend(polynomial: number, rng: Rng): Uint32Array {
  const degree = degreeOf(polynomial);
  const directions = new Uint32Array(32);
  for (let bit = 0; bit < 32; bit++) {
    if (bit < degree) {
      directions[bit] = (rng.int(2 ** bit) * 2 + 1) * 2 ** (31 - bit);
      continue;
    }
    let next = directions[bit - degree]! ^ (directions[bit - degree]! >>> degree);
    for (let k = 1; k < degree; k++) if ((polynomial >> (degree - k)) & 1) next ^= directions[bit - k]!;
    directions[bit] = next;
  }
  return directions;
}

/** How far the first points are from having one in each cell, summed over all divisions of the plane into cells. */
function planeDefects(a: Dimension, b: Dimension): number {
  let defects = 0;
  for (const [i, bits] of JUDGED_BITS.entries()) {
    for (let cut = 1; cut < bits; cut++) defects += bits - jointRank(a.matrices[i]!, cut, b.matrices[i]!, bits - cut);
  }
  return defects;
}

/** For each leading digit of the coordinate, the bits of the point's number that it depends on. */
function generatorRows(directions: Uint32Array, bits: number): number[] {
  return Array.from({ length: bits }, (_, digit) => {
    let row = 0;
    for (let bit = 0; bit < bits; bit++) row |= ((directions[bit]! >>> (31 - digit)) & 1) << bit;
    return row;
  });
}

const basis = new Uint32Array(JUDGED_BITS.at(-1)!);

/** The rank over GF(2) of the first rows of both matrices together. */
function jointRank(a: readonly number[], rowsOfA: number, b: readonly number[], rowsOfB: number): number {
  let rank = 0;
  for (let i = 0; i < rowsOfA + rowsOfB; i++) {
    let row = i < rowsOfA ? a[i]! : b[i - rowsOfA]!;
    for (let k = 0; k < rank; k++) row = Math.min(row, row ^ basis[k]!);
    if (row !== 0) basis[rank++] = row;
  }
  return rank;
}
