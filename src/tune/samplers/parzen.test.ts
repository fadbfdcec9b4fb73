import { describe, expect, it } from "vitest";
import { Rng } from "../../data/random.ts";
import { choice, int, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { type Point, drawInUnit, normalMass, parzen } from "./parzen.ts";

const space = new Space({
  x: uniform(0, 1),
  n: int(1, 5, { log: true }),
  o: choice([{ y: uniform(-2, 2) }, "none"]),
});
const trials: Point[] = [
  [0.2, 1, 0, 1.5],
  [0.3, 5, 1, undefined],
  [0.9, 5, 0, -1],
];

describe("parzen", () => {
  it("is a density: over all there is, it sums to one", () => {
    const estimator = parzen(space.parameters, trials);
    let mass = 0;
    const steps = 40;
    const middle = (i: number): number => (i + 0.5) / steps;
    for (let n = 1; n <= 5; n++) {
      for (let i = 0; i < steps; i++) {
        mass += Math.exp(estimator.logDensity([middle(i), n, 1, undefined])) / steps;
        for (let j = 0; j < steps; j++) {
          // The density of y is on its unit scale.
          mass += Math.exp(estimator.logDensity([middle(i), n, 0, middle(j) * 4 - 2])) / steps ** 2;
        }
      }
    }
    expect(mass).toBeCloseTo(1, 2);
  });

  it.each([
    ["together", space.parameters],
    ["alone", [space.parameters[0]!]],
  ])("draws by its own density (%s)", (_, parameters) => {
    const estimator = parzen(parameters, trials);
    const rng = new Rng(1);
    const draws = Array.from({ length: 4000 }, () => {
      const point: (number | undefined)[] = space.parameters.map(() => undefined);
      estimator.draw(rng, point);
      return point;
    });
    // Draws fall into the lower half as often as the density says.
    const alone = parzen([space.parameters[0]!], trials);
    const below = (of: typeof estimator, at: (x: number) => Point): number => {
      let mass = 0;
      for (let i = 0; i < 500; i++) mass += Math.exp(of.logDensity(at((i + 0.5) / 1000))) / 1000;
      return mass;
    };
    // In one dimension directly; of several, the density with the others left out is the marginal one.
    const expected = below(parameters.length === 1 ? alone : estimator, (x) => [x]);
    expect(draws.filter(([x]) => x! < 0.5).length / 4000).toBeCloseTo(expected, 1);
    if (parameters.length > 1) {
      for (const [, , option, y] of draws) expect(y === undefined).toBe(option === 1);
    }
  });

  it("has a density at each of very many whole numbers", () => {
    const { parameters } = new Space({ n: int(1, 1e9), m: int(1, 1e9, { log: true }) });
    const estimator = parzen(parameters, [
      [5e8, 10],
      [5e8 + 1, 1e9],
    ]);
    for (const n of [1, 4e8, 5e8, 1e9]) expect(estimator.logDensity([n, n])).toBeGreaterThan(-1000);
    expect(estimator.logDensity([5e8, 10])).toBeGreaterThan(estimator.logDensity([5e7, 10]));
  });

  it("without trials is wide everywhere", () => {
    const estimator = parzen(space.parameters, []);
    const here = estimator.logDensity([0.5, 3, 0, 0]);
    const there = estimator.logDensity([0, 3, 0, 2]);
    expect(here - there).toBeLessThan(0.3);
    expect(here).toBeGreaterThan(there);
  });
});

describe("normal distribution", () => {
  it("knows how much of the standard normal lies where", () => {
    const known = [
      [0, 0.5],
      [1, 0.8413447461],
      [-1, 0.1586552539],
      [1.96, 0.9750021049],
      [2.9, 0.9981341867],
      [-3, 0.001349898],
      [-5, 2.866515719e-7],
      [9, 1],
      [-9, 0],
    ];
    for (const [x, value] of known) expect(normalMass(-Infinity, x!) / value! || 1).toBeCloseTo(1, 6);
    expect(normalMass(0.9, 1.1)).toBeCloseTo(0.0483942, 4);
    expect(normalMass(1, 1 + 1e-9) / 1e-9).toBeCloseTo(0.2419707, 6);
  });

  it("draws within [0, 1], around the mean", () => {
    const rng = new Rng(1);
    const draws = (mean: number, deviation: number): number[] =>
      Array.from({ length: 2000 }, () => drawInUnit(rng, mean, deviation));
    const narrow = draws(0.7, 0.05);
    expect(narrow.reduce((sum, x) => sum + x, 0) / 2000).toBeCloseTo(0.7, 2);
    for (const x of [...narrow, ...draws(0, 1), ...draws(1, 0.2)]) expect(x >= 0 && x <= 1).toBe(true);
  });
});
