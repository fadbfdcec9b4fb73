import { DataError, OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWhole, idsOf, numbered } from "../../../tests/support/split-data.ts";
import { leaveOneOut } from "./leave-one-out.ts";

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
