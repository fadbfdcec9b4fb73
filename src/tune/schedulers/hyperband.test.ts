import { describe, expect, it } from "vitest";
import { simulate, type Simulated } from "../../../tests/support/simulate-study.ts";
import { minimise, reported } from "../../../tests/support/trials.ts";
import { uniform } from "../space/parameters.ts";
import { bracketOf, hyperband, hyperbandBrackets } from "./hyperband.ts";

const space = { x: uniform(0, 1) };
const run = (trials: number, loss: (number: number, step: number) => number | undefined, workers = 5): Simulated =>
  simulate({
    scheduler: hyperband({ maxSteps: 81 }),
    study: minimise(space, trials),
    trials,
    maxSteps: 81,
    workers,
    loss,
  });
/** Of each bracket, how many trials came to each rung. */
const survivors = ({ trials }: Simulated, first: number, end: number, rungs: readonly number[]): number[] =>
  rungs.map((step) => trials.slice(first, end).filter(({ reports }) => reports.length >= step).length);

describe("hyperband", () => {
  it("has the brackets of the paper for 81 steps and factor 3", () => {
    const table = hyperbandBrackets(81, 3).map((rungs) => rungs.map(({ trials, step }) => [trials, step]));
    expect(table).toEqual([
      [
        [81, 1],
        [27, 3],
        [9, 9],
        [3, 27],
        [1, 81],
      ],
      [
        [34, 3],
        [11, 9],
        [3, 27],
        [1, 81],
      ],
      [
        [15, 9],
        [5, 27],
        [1, 81],
      ],
      [
        [8, 27],
        [2, 81],
      ],
      [[5, 81]],
    ]);
  });

  it("gives trials to brackets by number, begins again, and cuts the last one short", () => {
    const brackets = hyperbandBrackets(81, 3);
    expect([0, 80, 81, 142, 143].map((number) => bracketOf(number, brackets, 3).first)).toEqual([0, 0, 81, 138, 143]);
    const short = bracketOf(90, brackets, 3, 93);
    expect([short.first, short.end, short.rungs.map(({ trials }) => trials)]).toEqual([81, 93, [12, 4, 1, 1]]);
  });

  it("halves each bracket as planned, and the best of each runs to its end", () => {
    const done = run(143, (number, step) => ((number * 37) % 143) + 1 / step);
    expect(survivors(done, 0, 81, [1, 3, 9, 27, 81])).toEqual([81, 27, 9, 3, 1]);
    expect(survivors(done, 81, 115, [3, 9, 27, 81])).toEqual([34, 11, 3, 1]);
    expect(survivors(done, 115, 130, [9, 27, 81])).toEqual([15, 5, 1]);
    expect(survivors(done, 130, 138, [27, 81])).toEqual([8, 2]);
    expect(survivors(done, 138, 143, [81])).toEqual([5]);
    expect(new Set(done.trials.map(({ status }) => status))).toEqual(new Set(["completed", "pruned"]));
    const best = done.trials.toSorted((a, b) => ((a.number * 37) % 143) - ((b.number * 37) % 143))[0]!;
    expect(best.status).toBe("completed");
  });

  it("decides the same every time, whatever the order in which trials come to a rung", () => {
    const loss = (number: number, step: number): number => ((number * 37) % 143) + 1 / step;
    const ended = (workers: number): unknown => run(143, loss, workers).trials.map(({ reports }) => reports.length);
    expect(run(143, loss)).toEqual(run(143, loss));
    expect(ended(3)).toEqual(ended(16));
  });

  it("ends where trials fail, are no number, or are fewer than a bracket has", () => {
    const done = run(100, (number, step) => {
      if (number % 7 === 3 && step > number % 5) return undefined;
      return number % 11 === 5 ? NaN : number;
    });
    expect(done.trials.some(({ status }) => status === "paused" || status === "running")).toBe(false);
    expect(done.trials.filter(({ status }) => status === "completed").length).toBeGreaterThanOrEqual(2);
  });

  it("gives the place of a promoted trial that fails to the next that waits", () => {
    const scheduler = hyperband({ maxSteps: 3 });
    // The first bracket: three trials to step 1, one to step 3.
    const [a, b, c] = [reported(0, [1], "failed"), reported(1, [2], "paused"), reported(2, [3], "paused")];
    const study = minimise(space);
    expect(scheduler.resume!([a, b], study)).toEqual([]);
    expect(scheduler.resume!([a, b, c], study)).toEqual([1]);
    expect(scheduler.drop!([a, b, c], study)).toEqual([2]);
  });

  it.each([
    [{}, "missing option `maxSteps`"],
    [{ maxSteps: 2 }, "`maxSteps` (2) is below `factor` (3), so no trial would ever pause."],
    [{ maxSteps: 9, factor: 1.5 }, "Expected `factor` to be a finite number ≥ 2, got `1.5`"],
  ])("refuses %o", (options, message) => {
    expect(() => hyperband(options as { maxSteps: number })).toThrow(message);
  });
});
