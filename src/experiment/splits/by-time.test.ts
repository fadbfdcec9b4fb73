import { DataError, OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWhole, idsOf, numbered, type Numbered } from "../../../tests/support/split-data.ts";
import { byTime } from "./by-time.ts";

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
