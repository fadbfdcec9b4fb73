// Functions that optimisers are measured on.
import { Space } from "../../src/tune/space/space.ts";
import { uniform } from "../../src/tune/space/parameters.ts";
import type { Params } from "../../src/tune/types.ts";

interface BenchmarkFunction {
  readonly space: Space;
  readonly least: number;
  at(params: Params): number;
}

/** Three equal valleys in two dimensions. */
export const branin: BenchmarkFunction = {
  space: new Space({ x: uniform(-5, 10), y: uniform(0, 15) }),
  least: 0.397887,
  at(params) {
    const [x, y] = [params.x as number, params.y as number];
    const bend = y - (5.1 / (4 * Math.PI ** 2)) * x * x + (5 / Math.PI) * x - 6;
    return bend * bend + 10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) + 10;
  },
};

const HEIGHTS = [1, 1.2, 3, 3.2];
const STEEPNESS = [
  [10, 3, 17, 3.5, 1.7, 8],
  [0.05, 10, 17, 0.1, 8, 14],
  [3, 3.5, 1.7, 10, 17, 8],
  [17, 8, 0.05, 10, 0.1, 14],
];
const CENTRES = [
  [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
  [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
  [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.665],
  [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
];

/** Four pits of different depth in six dimensions. */
export const hartmann6: BenchmarkFunction = {
  space: new Space(Object.fromEntries(Array.from({ length: 6 }, (_, d) => [`x${d}`, uniform(0, 1)]))),
  least: -3.32237,
  at: (params) =>
    -HEIGHTS.reduce((sum, height, pit) => {
      const far = STEEPNESS[pit]!.reduce(
        (total, steep, d) => total + steep * ((params[`x${d}`] as number) - CENTRES[pit]![d]!) ** 2,
        0,
      );
      return sum + height * Math.exp(-far);
    }, 0),
};
