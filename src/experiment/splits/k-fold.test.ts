import { OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWhole, idsOf, numbered } from "../../../tests/support/split-data.ts";
import { kFold } from "./k-fold.ts";

const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b);

describe("kFold", () => {
  it("every row that is not for the test validates exactly one fold and trains all others", () => {
    const scenario = fc.record({
      n: fc.integer({ min: 30, max: 120 }),
      folds: fc.integer({ min: 2, max: 7 }),
      test: fc.constantFrom(0, 0.1, 0.3),
      val: fc.constantFrom(0, 0.2),
      shuffle: fc.boolean(),
      seed: fc.nat(9),
    });
    fc.assert(
      fc.property(scenario, ({ n, seed, ...options }) => {
        const data = numbered(n);
        const parts = kFold(options)(data, seed);
        expectWhole(data, parts);
        const rest = sorted([...idsOf(parts.main.train), ...idsOf(parts.main.val)]);
        expect(parts.folds).toHaveLength(options.folds);
        expect(sorted(parts.folds!.flatMap(({ val }) => idsOf(val)))).toEqual(rest);
        for (const { train, val, test } of parts.folds!) {
          expect(sorted([...idsOf(train), ...idsOf(val)])).toEqual(rest);
          expect(test).toBeUndefined();
        }
        const sizes = parts.folds!.map(({ val }) => idsOf(val).length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        expect(kFold(options)(data, seed)).toEqual(parts);
      }),
    );
  });

  it("five folds and a tenth for the test by default; in stretches without `shuffle`", () => {
    const { main, folds } = kFold()(numbered(100), 0);
    expect([idsOf(main.train).length, idsOf(main.test).length, folds?.length]).toEqual([90, 10, 5]);
    const inLine = kFold({ folds: 3, test: 0, shuffle: false })(numbered(9), 0);
    expect(inLine.folds!.map(({ val }) => idsOf(val))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7, 8],
    ]);
  });

  it("stratify: every fold has each class in the same share", () => {
    const data = numbered(200);
    const { folds } = kFold({ folds: 4, stratify: "y", test: 0.2 })(data, 3);
    for (const label of [0, 1, 2]) {
      const counts = folds!.map(({ val }) => val!.y.filter((y) => y === label).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  });

  it("says what is wrong", () => {
    expect(() => kFold({ folds: 1 })).toThrow(OptionError);
    expect(() => kFold({ folds: 1 })).toThrow("Expected `folds` to be a whole number ≥ 2, got `1`");
    expect(() => kFold({ folds: 6, test: 0 })(numbered(5), 0)).toThrow("5 rows are too few for 6 folds");
  });
});
