import { OptionError } from "hookline";
import fc from "fast-check";
import { expect, it } from "vitest";
import { logUniform } from "./log-uniform.ts";

it("gives each order of magnitude the same room", () => {
  const lr = logUniform(1e-4, 1);
  expect([0.25, 0.5, 0.75].map((unit) => Math.log10(lr.fromUnit(unit)))).toEqual([
    expect.closeTo(-3, 10),
    expect.closeTo(-2, 10),
    expect.closeTo(-1, 10),
  ]);
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (unit) => {
      expect(lr.has(lr.fromUnit(unit))).toBe(true);
      expect(lr.toUnit(lr.fromUnit(unit))).toBeCloseTo(unit, 10);
    }),
  );
});

it.each([
  [0, 1, "Expected `low` to be a number > 0, got `0`: there is no log of it."],
  [-1, 1, "there is no log of it"],
  [1, 0.1, "Swap them"],
  [1e300, 1e300 * (1 + 2 ** -52), "too narrow to search"],
])("refuses the range from %s to %s", (low, high, message) => {
  expect(() => logUniform(low, high)).toThrow(OptionError);
  expect(() => logUniform(low, high)).toThrow(message);
});
