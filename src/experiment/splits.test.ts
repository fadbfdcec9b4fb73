import { DataError, OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWhole, idsOf, numbered, type Numbered } from "../../tests/support/split-data.ts";
import { byTime, holdout, kFold, leaveOneOut, type HoldoutOptions } from "./splits.ts";

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
    expect(String(fails({}, [{ x: 1 }]))).toContain("it splits a Table, or arrays by name such as { x, y }, got");
  });
});

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

describe("leaveOneOut", () => {
  it("the last row of each group is for the test, the one before for val, the rest trains", () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 150 }), fc.nat(50), fc.boolean(), (n, seed, val) => {
        const data = numbered(n, seed);
        const parts = leaveOneOut({ by: "user", time: "time", val })(data, 0);
        expectWhole(data, parts);
        const inTest = new Set(idsOf(parts.main.test));
        const inVal = new Set(idsOf(parts.main.val));
        for (const user of new Set(data.user)) {
          const rows = [...data.id]
            .filter((id) => data.user[id] === user)
            .sort((a, b) => data.time[a]! - data.time[b]!);
          const enough = rows.length >= (val ? 3 : 2);
          expect(rows.filter((id) => inTest.has(id))).toEqual(enough ? rows.slice(-1) : []);
          expect(rows.filter((id) => inVal.has(id))).toEqual(enough && val ? rows.slice(-2, -1) : []);
        }
      }),
    );
  });

  it("without a time the row is drawn at random, a function of the seed", () => {
    const data = numbered(100);
    const split = leaveOneOut({ by: "user" });
    expectWhole(data, split(data, 1));
    expect(split(data, 1)).toEqual(split(data, 1));
    expect(idsOf(split(data, 1).main.test)).not.toEqual(idsOf(split(data, 2).main.test));
  });

  it("says what is wrong", () => {
    const options = {} as Parameters<typeof leaveOneOut>[0];
    expect(() => leaveOneOut(options)).toThrow(OptionError);
    expect(() => leaveOneOut(options)).toThrow("missing option `by`");
    expect(() => leaveOneOut({ by: "uesr" })(numbered(9), 0)).toThrow("Did you mean `user`?");
    const alone = { user: Int32Array.of(1, 2, 3) };
    expect(() => leaveOneOut({ by: "user" })(alone, 0)).toThrow(DataError);
    expect(() => leaveOneOut({ by: "user" })(alone, 0)).toThrow(
      "none of the 3 groups by `user` has the 3 rows that it takes to leave two out",
    );
    const noTime = { user: Int32Array.of(1, 1, 1), at: Float64Array.of(1, Number.NaN, 2) };
    expect(() => leaveOneOut({ by: "user", time: "at" })(noTime, 0)).toThrow("`at` of row 1 is NaN");
  });
});

const span = (part: Numbered | undefined): [number, number] => [Math.min(...part!.time), Math.max(...part!.time)];

describe("byTime", () => {
  it("every row is in one part; train is before val, val before test, and no time is in two of them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 200 }), fc.nat(50), (n, seed) => {
        const data = numbered(n, seed);
        const parts = byTime({ field: "time", val: 0.2, test: 0.2 })(data, seed);
        expectWhole(data, parts);
        const [train, val, test] = [parts.main.train, parts.main.val, parts.main.test].map(span);
        expect(train![1]).toBeLessThan(val![0]);
        expect(val![1]).toBeLessThan(test![0]);
      }),
    );
  });

  it("takes shares, or the times at which val and test begin", () => {
    const data = { ...numbered(10), time: Float64Array.of(9, 8, 7, 6, 5, 4, 3, 2, 1, 0) };
    const shares = byTime({ field: "time" })(data, 0).main;
    expect([idsOf(shares.val), idsOf(shares.test)]).toEqual([[1], [0]]);
    const cuts = byTime({ field: "time", valFrom: 5, testFrom: 8 })(data, 0).main;
    expect([idsOf(cuts.val), idsOf(cuts.test)]).toEqual([
      [2, 3, 4],
      [0, 1],
    ]);
    const mixed = byTime({ field: "time", val: 0, testFrom: 8 })(data, 0).main;
    expect([mixed.val, idsOf(mixed.test)]).toEqual([undefined, [0, 1]]);
  });

  it.each([
    [{ field: "time", val: 0.1, valFrom: 3 }, "`val` is a share and `valFrom` a time: give one of them"],
    [{ field: "time", valFrom: 3, testFrom: 3 }, "`valFrom` (3) must be before `testFrom` (3)"],
    [{ feild: "time" }, "unknown option `feild`. Did you mean `field`?"],
    [{}, "missing option `field`"],
  ])("rejects %o", (options, message) => {
    expect(() => byTime(options as never)).toThrow(OptionError);
    expect(() => byTime(options as never)).toThrow(message);
  });

  it("says which part is empty, and which field is missing", () => {
    const same = { time: new Float64Array(20) };
    expect(() => byTime({ field: "time" })(same, 0)).toThrow(DataError);
    expect(() => byTime({ field: "time" })(same, 0)).toThrow("byTime: of 20 rows, `val` (0.1) would have none.");
    expect(() => byTime({ field: "time", testFrom: 5, val: 0 })(same, 0)).toThrow("`test` (from 5 on) would have none");
    expect(() => byTime({ field: "tiem" })(same, 0)).toThrow("Did you mean `time`?");
  });
});
