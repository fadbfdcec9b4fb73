import { OptionError } from "hookline";
import fc from "fast-check";
import { expect, it } from "vitest";
import { uniform } from "./uniform.ts";

it("maps its range to [0, 1] and back, and never leaves it", () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (low, width, unit) => {
        const parameter = uniform(low, low + width);
        const value = parameter.fromUnit(unit);
        expect(parameter.has(value)).toBe(true);
        expect(parameter.toUnit(value)).toBeCloseTo(unit, 5);
      },
    ),
  );
  expect([0, 0.5, 1].map(uniform(2, 4).fromUnit)).toEqual([2, 3, 4]);
  expect([1, 3, 9].map(uniform(2, 4).clamp)).toEqual([2, 3, 4]);
});

it.each([
  [2, 1, "`low` (2) is above `high` (1). Swap them."],
  [1, 1, "from 1 to 1 there is nothing to search. Write 1 as a constant."],
  [NaN, 1, "Expected `low` to be a finite number, got `NaN` (number)"],
  [0, Infinity, "Expected `high` to be a finite number, got `Infinity` (number)"],
  ["0", 1, 'Expected `low` to be a finite number, got `"0"` (string)'],
  [undefined, 1, "missing option `low`"],
  [-1.7e308, 1.7e308, "more than a number can span"],
])("refuses the range from %s to %s", (low, high, message) => {
  expect(() => uniform(low as number, high)).toThrow(OptionError);
  expect(() => uniform(low as number, high)).toThrow(message);
});
