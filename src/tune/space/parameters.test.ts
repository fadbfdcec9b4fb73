import { OptionError } from "hookline";
import { describe, expect, it } from "vitest";
import { type IntOptions, int, logUniform, uniform } from "./parameters.ts";
import fc from "fast-check";

describe("uniform", () => {
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
});

describe("logUniform", () => {
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
});

describe("int", () => {
  it("gives each value the same room, ends included", () => {
    const layers = int(1, 4);
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 1000; i++) counts[layers.fromUnit((i + 0.5) / 1000) - 1]!++;
    expect(counts).toEqual([250, 250, 250, 250]);
    expect([1, 2, 3, 4].map(layers.toUnit)).toEqual([0.125, 0.375, 0.625, 0.875]);
    expect(layers.cell(2)).toEqual([0.25, 0.5]);
  });

  it("counts in steps from `low`, to the last that fits", () => {
    const width = int(10, 40, { step: 8 });
    expect([width.size, width.high]).toEqual([4, 34]);
    expect([0, 0.3, 0.99, 1].map(width.fromUnit)).toEqual([10, 18, 34, 34]);
    expect([10, 11, 34, 40].map(width.has)).toEqual([true, false, true, false]);
    expect([0, 13, 15, 99].map(width.clamp)).toEqual([10, 10, 18, 34]);
  });

  it("log: as much room from 1 to 10 as from 10 to 100", () => {
    const batch = int(1, 1000, { log: true });
    const units = [1, 10, 100, 1000].map(batch.toUnit);
    expect(units).toEqual(units.toSorted((a, b) => a - b));
    expect(units[2]! - units[1]!).toBeCloseTo(units[3]! - units[2]!, 1);
    expect(batch.cell(1)[0]).toBe(0);
    expect(batch.cell(1000)[1]).toBeCloseTo(1, 12);
  });

  it("comes back from [0, 1] to every value, and its cells cover [0, 1]", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(60), fc.boolean(), (low, more, log) => {
        const parameter = int(low, low + more, { log });
        let end = 0;
        for (let value = low; value <= low + more; value++) {
          expect(parameter.fromUnit(parameter.toUnit(value))).toBe(value);
          expect(parameter.cell(value)[0]).toBeCloseTo(end, 10);
          [, end] = parameter.cell(value);
        }
        expect(end).toBeCloseTo(1, 10);
      }),
    );
  });

  it.each([
    [3, 1, {}, "`low` (3) is above `high` (1). Swap them."],
    [0.5, 3, {}, "Expected `low` to be a whole number, got `0.5` (number)"],
    [1, 3, { step: 0 }, "Expected `step` to be a whole number ≥ 1, got `0` (number)"],
    [0, 3, { log: true }, "Expected `low` to be a whole number ≥ 1 with `log`, got `0`."],
    [1, 9, { log: true, step: 2 }, "`step` and `log` do not go together"],
    [1, 9, { stpe: 2 }, "unknown option `stpe`. Did you mean `step`?"],
    [1, NaN, {}, "Expected `high` to be a whole number, got `NaN` (number)"],
    [-(2 ** 53 - 1), 2 ** 53 - 1, {}, "more than whole numbers can span"],
  ])("refuses int(%s, %s, %o)", (low, high, options, message) => {
    expect(() => int(low, high, options as IntOptions)).toThrow(OptionError);
    expect(() => int(low, high, options as IntOptions)).toThrow(message);
  });
});
