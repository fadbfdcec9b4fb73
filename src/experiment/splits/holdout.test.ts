import { DataError, OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWhole, idsOf, numbered } from "../../../tests/support/split-data.ts";
import { holdout, type HoldoutOptions } from "./holdout.ts";

const share = fc.double({ min: 0.05, max: 0.4, noNaN: true });

describe("holdout", () => {
  it("puts every row in exactly one part, of the share asked for, the same for the same seed", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 200 }),
        share,
        share,
        fc.nat(9),
        fc.boolean(),
        (n, val, test, seed, shuffle) => {
          const data = numbered(n);
          const split = holdout({ val, test, shuffle });
          const parts = split(data, seed);
          expectWhole(data, parts);
          expect(idsOf(parts.main.val)).toHaveLength(Math.round(n * val));
          expect(idsOf(parts.main.test)).toHaveLength(Math.round(n * test));
          expect(split(data, seed)).toEqual(parts);
        },
      ),
    );
  });

  it("keeps a tenth for each by default, drawn anew for another seed", () => {
    const data = numbered(100);
    const { main } = holdout()(data, 0);
    expect([main.train, main.val, main.test].map((part) => idsOf(part).length)).toEqual([80, 10, 10]);
    expect(idsOf(holdout()(data, 1).main.test)).not.toEqual(idsOf(main.test));
  });

  it("takes the last rows without `shuffle`, and leaves out a part of 0", () => {
    const { main } = holdout({ val: 0.2, test: 0.1, shuffle: false })(numbered(10), 0);
    expect([idsOf(main.val), idsOf(main.test)]).toEqual([[7, 8], [9]]);
    const all = holdout({ val: 0, test: 0 })(numbered(5), 0).main;
    expect(Object.keys(all)).toEqual(["train"]);
    expect(idsOf(all.train)).toEqual([0, 1, 2, 3, 4]);
  });

  it("stratify: every class has the same share in each part", () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 300 }), share, fc.nat(9), (n, test, seed) => {
        const data = numbered(n, seed);
        const parts = holdout({ val: 0.1, test, stratify: "y" })(data, seed);
        expectWhole(data, parts);
        for (const label of [0, 1, 2]) {
          const count = (values: Uint8Array | undefined): number => values?.filter((y) => y === label).length ?? 0;
          expect(Math.abs(count(parts.main.test?.y) - test * count(data.y))).toBeLessThan(2);
          expect(Math.abs(count(parts.main.val?.y) - 0.1 * count(data.y))).toBeLessThan(2);
        }
      }),
    );
  });

  it.each([
    [{ val: 1 }, "Expected `val` to be a number from 0 up to 1 (exclusive), got `1` (number)"],
    [{ val: 0.5, test: 0.5 }, "`val` (0.5) and `test` (0.5) leave nothing to train on"],
    [{ tets: 0.1 }, "unknown option `tets`. Did you mean `test`?"],
    [{ stratify: "y", shuffle: false }, "leave out `shuffle: false`"],
  ])("rejects %o", (options, message) => {
    expect(() => holdout(options as HoldoutOptions)).toThrow(OptionError);
    expect(() => holdout(options as HoldoutOptions)).toThrow(message);
  });

  it("says what is wrong with the data", () => {
    const fails = (options: object, data: object): unknown => {
      try {
        holdout(options)(data as never, 0);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    const few = fails({}, numbered(4)) as DataError;
    expect(few).toBeInstanceOf(DataError);
    expect(few.message).toBe("holdout: of 4 rows, `val` (0.1) would have none.");
    expect(String(fails({ stratify: "lable" }, { label: new Int32Array(9), x: new Float32Array(9) }))).toContain(
      "`stratify` names the field `lable`, which the data does not have. Did you mean `label`? It has: label, x.",
    );
    expect(String(fails({ stratify: "x" }, numbered(30)))).toContain(
      "needs one number in each row, but `x` has shape [30, 2]",
    );
    expect(String(fails({ stratify: "id" }, numbered(30)))).toContain("`id` has 30 different values in 30 rows");
    expect(String(fails({}, [{ x: 1 }]))).toContain("it splits arrays by name such as { x, y }, got");
  });
});
