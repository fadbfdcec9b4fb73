// Random data of a seed: the same each time, in the order in which it is asked for.
import { Rng } from "hookline/data";

interface RandomData {
  floats(...shape: number[]): { data: Float32Array; shape: number[] };
  labels(n: number, classes: number): Int32Array;
}

export function randomData(seed: number): RandomData {
  const rng = new Rng(seed);
  return {
    floats: (...shape) => ({
      data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => rng.normal()),
      shape,
    }),
    labels: (n, classes) => Int32Array.from({ length: n }, () => rng.int(classes)),
  };
}
