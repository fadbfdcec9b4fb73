// The normal distribution, cut to the coordinates from 0 to 1.
import type { Rng } from "../../data/random.ts";

/** The part of the standard normal distribution between two numbers. */
export function normalMass(from: number, to: number): number {
  // Of two that are close, the difference would be nothing but rounding: one whole number among a million is so narrow.
  if (to - from < 1e-3) return ((to - from) * Math.exp(-(((from + to) / 2) ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  return Math.max(0, normalCdf(to) - normalCdf(from));
}

/** The part of the standard normal distribution below x. */
function normalCdf(x: number): number {
  // Beyond this lies less than one part in 10¹⁵, and most of what is asked for.
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  const tail = 0.5 * erfcOfPositive(Math.abs(x) / Math.SQRT2);
  return x > 0 ? 1 - tail : tail;
}

/** By its continued fraction far out, by its series near zero: both converge fast where they are used. */
function erfcOfPositive(x: number): number {
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-10 * Math.abs(sum) && n < 100; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let k = 20; k >= 1; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
}

/** A draw from the normal distribution around a mean in [0, 1], of what falls into [0, 1]. */
export function drawInUnit(rng: Rng, mean: number, deviation: number): number {
  // At worst a third of the draws fall inside; a bound, since nothing may ever hang.
  for (let i = 0; i < 1000; i++) {
    const draw = mean + deviation * rng.normal();
    if (draw >= 0 && draw <= 1) return draw;
  }
  return mean;
}
