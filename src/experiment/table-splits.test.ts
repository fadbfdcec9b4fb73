// The splits over tables: by strings and dates, and with gaps.
import fc from "fast-check";
import { Table } from "hookline/data";
import { expect, test } from "vitest";
import { byTime, holdout, kFold, leaveOneOut } from "./splits.ts";
import type { Datasets } from "../core/outer-events.ts";

const day = (n: number): Date => new Date(Date.UTC(2024, 0, 1 + n));

const orders = (n: number): Table =>
  Table.fromColumns({
    id: Float64Array.from({ length: n }, (_, i) => i),
    plan: Array.from({ length: n }, (_, i) => (i % 10 === 0 ? null : i % 4 === 0 ? "pro" : "basic")),
    at: Array.from({ length: n }, (_, i) => day((i * 7) % n)),
    user: Array.from({ length: n }, (_, i) => `user ${i % 5}`),
  });

const ids = (table: Table | undefined): number[] =>
  table ? [...(table.column("id") as { values: Float64Array }).values] : [];

function expectWhole(table: Table, { train, val, test: tested }: Datasets<Table>): void {
  const all = [train, val, tested].flatMap(ids);
  expect(all.toSorted((a, b) => a - b)).toEqual(ids(table));
}

test("holdout stratifies by strings; rows without one are a class of their own", () => {
  fc.assert(
    fc.property(fc.integer({ min: 60, max: 300 }), fc.nat(9), (n, seed) => {
      const table = orders(n);
      const { main } = holdout({ val: 0.2, test: 0.2, stratify: "plan" })(table, seed);
      expectWhole(table, main);
      expect(main.train).toBeInstanceOf(Table);
      const count = (part: Table, plan: string | null): number =>
        Array.from({ length: part.rowCount }, (_, i) => part.row(i).plan).filter((each) => each === plan).length;
      for (const plan of ["basic", "pro", null])
        for (const part of [main.val!, main.test!])
          expect(Math.abs(count(part, plan) - 0.2 * count(table, plan))).toBeLessThan(2);
    }),
    { numRuns: 30 },
  );
});

test("the same rows as of arrays", () => {
  const table = orders(50);
  const { values } = table.column("id") as { values: Float64Array };
  const parts = kFold({ folds: 3, val: 0.1 })(table, 7);
  const expected = kFold({ folds: 3, val: 0.1 })({ id: values }, 7);
  expect(ids(parts.main.train)).toEqual([...expected.main.train.id]);
  expect(parts.folds!.map(({ val }) => ids(val))).toEqual(expected.folds!.map(({ val }) => [...val!.id]));
});

test("byTime cuts at dates", () => {
  const table = orders(30);
  const { main } = byTime({ field: "at", valFrom: "2024-01-11", testFrom: "2024-01-21T00:00:00Z" })(table, 0);
  expectWhole(table, main);
  const times = (part: Table): number[] => [...(part.column("at") as { values: Float64Array }).values];
  expect(Math.max(...times(main.train))).toBe(day(9).getTime());
  expect(Math.min(...times(main.val!))).toBe(day(10).getTime());
  expect(Math.min(...times(main.test!))).toBe(day(20).getTime());
  expect(ids(byTime({ field: "at", valFrom: day(10).getTime(), test: 0 })(table, 0).main.val)).toHaveLength(20);
});

test("leaveOneOut by strings and dates", () => {
  const table = orders(40);
  const { main } = leaveOneOut({ by: "user", time: "at" })(table, 0);
  expectWhole(table, main);
  expect(new Set(Array.from({ length: 5 }, (_, i) => main.test!.row(i).user)).size).toBe(5);
});

test("what is missing, and dates for what is no column of dates", () => {
  const table = Table.fromColumns({ at: [day(0), null, day(2)], user: ["a", null, "a"], n: [1, 2, 3] });
  expect(() => byTime({ field: "at" })(table, 0)).toThrow(
    "byTime: `at` of row 1 is NaN (missing): every row needs a time",
  );
  expect(() => leaveOneOut({ by: "user" })(table, 0)).toThrow(
    "`user` of row 1 is NaN (missing): every row needs a group",
  );
  expect(() => byTime({ field: "n", testFrom: "2024-01-01" })(table, 0)).toThrow(
    'byTime: "2024-01-01" is a date, but `n` is not a column of dates. Give a number in its unit.',
  );
  expect(() => byTime({ field: "at", testFrom: "soon" })).toThrow("to be a finite number or an ISO 8601 date");
  expect(() => byTime({ field: "at", valFrom: "2024-02-01", testFrom: "2024-01-01" })).toThrow(
    "`valFrom` (2024-02-01) must be before `testFrom` (2024-01-01)",
  );
  expect(() => holdout({ stratify: "pln" })(orders(9), 0)).toThrow("Did you mean `plan`?");
});
