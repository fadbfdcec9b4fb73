import { expect, it } from "vitest";
import { minimise } from "../../../tests/support/trials.ts";
import { choice, int, logUniform, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { random } from "./random.ts";

const space = new Space({
  lr: logUniform(1e-4, 1),
  layers: int(1, 4),
  optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]),
});

it("is a function of seed and number alone", () => {
  const draw = (seed: number): unknown[] =>
    Array.from({ length: 20 }, (_, number) => random(space, { seed }).suggest(number, [], minimise(space)));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
  expect(new Set(draw(1).map((params) => JSON.stringify(params))).size).toBe(20);
});

it("draws evenly on each parameter's own scale", () => {
  const draws = Array.from({ length: 4000 }, (_, number) => random(space).suggest(number, [], minimise(space)));
  for (const params of draws) space.check(params);
  const share = (test: (params: (typeof draws)[number]) => boolean): number => draws.filter(test).length / draws.length;
  expect(share(({ lr }) => (lr as number) < 1e-2)).toBeCloseTo(0.5, 1);
  expect(share(({ layers }) => layers === 1)).toBeCloseTo(0.25, 1);
  expect(share(({ optimizer }) => "momentum" in (optimizer as object))).toBeCloseTo(0.5, 1);
});

it("refuses a seed that is no whole number", () => {
  expect(() => random(space, { seed: 0.5 })).toThrow("Expected `seed` to be a whole number, got `0.5` (number)");
});
