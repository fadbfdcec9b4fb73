import { describe, expect, test } from "vitest";
import { Sharing } from "./sharing.ts";

/** A machine: how long a run takes with all threads and with one fewer, in milliseconds of that time. */
type Machine = (withAll: boolean, at: number) => number;

/** Runs a program for so long; the share of the time after `from` in which all threads helped. */
function shareWithAll(sharing: Sharing, machine: Machine, until: number, from = 0): number {
  let [at, all] = [0, 0];
  while (at < until) {
    const ms = machine(sharing.withAll, at);
    if (sharing.withAll && at >= from) all += ms;
    at += ms;
    sharing.tell(ms);
  }
  return all / (at - from);
}

/** Numbers between 0 and 1, the same at each call. */
function numbers(): () => number {
  let state = 1;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

describe.each([0.3, 1, 90])("a program of %d ms", (ms) => {
  test("on a quiet machine all threads help, though one run in fifty takes five times as long", () => {
    const random = numbers();
    const machine: Machine = (withAll) => ms * (withAll ? 1 : 1.8) * (random() < 0.02 ? 5 : 1 + 0.1 * random());
    expect(shareWithAll(new Sharing(), machine, 20_000)).toBeGreaterThan(0.97);
  });

  test("beside a busy process one fewer does, and all do again once it is gone", () => {
    const random = numbers();
    const sharing = new Sharing();
    shareWithAll(sharing, () => ms, 1000);
    const busy: Machine = (withAll) => ms * (withAll ? 2 + 4 * random() : 1.8);
    expect(shareWithAll(sharing, busy, 60_000, 10_000)).toBeLessThan(0.1);
    const quiet: Machine = (withAll) => (withAll ? ms : 1.8 * ms);
    expect(shareWithAll(sharing, quiet, 60_000, 30_000)).toBeGreaterThan(0.99);
  });

  test("where one fewer does not pay either, all go on, and the other way is tried ever more rarely", () => {
    const sharing = new Sharing();
    shareWithAll(sharing, () => ms, 1000);
    expect(shareWithAll(sharing, (withAll) => ms * (withAll ? 2 : 3), 60_000, 10_000)).toBeGreaterThan(0.9);
  });
});

test("a trial with all threads ends with its first slow run", () => {
  const sharing = new Sharing();
  const takes = (ms: (withAll: boolean) => number, runs: number): number => {
    let withAll = 0;
    for (let run = 0; run < runs; run++) {
      if (sharing.withAll) withAll++;
      sharing.tell(ms(sharing.withAll));
    }
    return withAll;
  };
  takes(() => 10, 10);
  const busy = (withAll: boolean): number => (withAll ? 40 : 18);
  takes(busy, 100);
  expect(sharing.withAll).toBe(false);
  // Windows are of three runs, and 30 of them lie between two trials.
  expect(takes(busy, 900)).toBeLessThanOrEqual(10);
});

test("one long pause changes nothing: the process may have been stopped", () => {
  const sharing = new Sharing();
  for (let run = 0; run < 1000; run++) {
    sharing.tell(run === 500 ? 3_600_000 : 1);
    expect(sharing.withAll).toBe(true);
  }
});
