// sobol: points spread evenly over the space, whatever the number of trials. Better than random where few trials must cover much.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import type { SpaceTree } from "../space/parameter.ts";
import { Space } from "../space/space.ts";
import type { Sampler } from "../types.ts";
import { sobolDirections } from "./sobol-directions.ts";

/** Options of `sobol`. */
export interface SobolOptions {
  /** Default 0. Another seed gives other points, spread as evenly. */
  readonly seed?: number;
}

/** Judging pairs of dimensions takes the square of their number. */
const MAX_DIMENSIONS = 100;

/** @example sobol({ lr: logUniform(1e-4, 1e-1), momentum: uniform(0, 0.99) }, { seed: 1 }) */
export function sobol(space: Space | SpaceTree, options: SobolOptions = {}): Sampler {
  checkOptions("sobol", options, { seed: is.whole });
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
}

/** The coordinate of a point as 32 binary digits. */
function digits(directions: Uint32Array, number: number): number {
  let sum = 0;
  for (let rest = number >>> 0, bit = 0; rest !== 0; rest >>>= 1, bit++) if (rest & 1) sum ^= directions[bit]!;
  return sum >>> 0;
}

/**
 * Owen's scrambling: every digit is flipped or not by those before it, so that cells stay cells and points within them
 * move. On the reversed digits a carry runs only upwards, so a hash of additions and of products with even numbers does it
 * (Laine and Karras 2011).
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
