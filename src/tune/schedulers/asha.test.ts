import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { simulate, type Simulated } from "../../../tests/support/simulate-study.ts";
import { median, minimise, reported } from "../../../tests/support/trials.ts";
import { Rng } from "../../data/random.ts";
import { uniform } from "../space/parameters.ts";
import type { StudyView, TrialRecord } from "../types.ts";
import { asha, ashaRungs, type AshaOptions } from "./asha.ts";

const study = minimise({ x: uniform(0, 1) });
const final = (number: number, seed = 0): number => 0.05 + new Rng(seed, number, 1).next();
/** Curves that never cross: who is better at the end is better all along. */
const monotone = (number: number, step: number): number => final(number) + 2 * (1 + final(number)) * 0.8 ** step;
const run = (trials: number, workers: number): Simulated =>
  simulate({ scheduler: asha({ maxSteps: 81 }), study, trials, maxSteps: 81, workers, loss: monotone });

describe("asha", () => {
  it("judges at grace, grace · factor, … below maxSteps", () => {
    expect(ashaRungs(1, 81, 3)).toEqual([1, 3, 9, 27]);
    expect(ashaRungs(2, 17, 2)).toEqual([2, 4, 8, 16]);
  });

  it("lets about one of `factor` go on from each rung", () => {
    const { trials } = run(1000, 8);
    const reached = [1, 2, 4, 10, 28].map((step) => trials.filter(({ reports }) => reports.length >= step).length);
    const shares = reached.slice(1).map((count, rung) => count / reached[rung]!);
    for (const share of shares.slice(0, 2)) expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
    // Higher up there are few, and who comes first has nobody to be measured against.
    for (const share of shares.slice(2)) expect(share).toBeLessThan(0.65);
  });

  it("never ends the best trial while curves do not cross", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 9 }), (trials, workers) => {
        const done = run(trials, workers).trials;
        const best = done.toSorted((a, b) => final(a.number) - final(b.number))[0]!;
        expect(best.status).toBe("completed");
      }),
      { numRuns: 40 },
    );
  });

  it("decides the same every time, from the records alone", () => {
    expect(run(60, 4)).toEqual(run(60, 4));
  });

  it("says why, and judges a rung once, with the first report that has the objective", () => {
    const scheduler = asha({ maxSteps: 27 });
    const others = [1, 2, 3].map((loss) => reported(loss, [loss, loss, loss]));
    const decide = (own: TrialRecord, of: StudyView = study): unknown =>
      scheduler.decide(own, own.reports.at(-1)!, [...others, own], of);
    expect(decide(reported(9, [1.5]))).toEqual({
      kind: "prune",
      reason: "place 2 of 4 at step 1 by `loss`; the first 1 continue",
    });
    expect(decide(reported(9, [0.5, 99]))).toEqual({ kind: "continue" });
    // From step 2 to 4: it comes to rung 3 with what it has at 4.
    const jump = {
      ...reported(9, []),
      reports: [
        { step: 2, values: { loss: 0.1 } },
        { step: 4, values: { loss: 99 } },
      ],
    };
    expect(decide(jump)).toMatchObject({ kind: "prune", reason: expect.stringContaining("at step 3") });
    const late: TrialRecord = {
      ...reported(9, []),
      reports: [
        { step: 1, values: { other: 1 } },
        { step: 2, values: { loss: 99 } },
      ],
    };
    expect(decide(late)).toMatchObject({ kind: "prune", reason: expect.stringContaining("at step 1") });
    expect(decide(reported(9, [NaN]))).toEqual({ kind: "prune", reason: "`loss` is not finite" });
    expect(decide(reported(9, [99]), { ...study, objectives: [{ metric: "loss", mode: "max" }] })).toEqual({
      kind: "continue",
    });
  });

  it("with noisy curves that cross, comes within 1 % of the best in less than a quarter of the steps", () => {
    const [trials, maxSteps] = [100, 81];
    // Some are four times as slow as others, whatever they come to, and every report is a little off.
    const curve = (seed: number) => (number: number, step: number) => {
      const slow = 4 + 12 * new Rng(seed, number, 2).next();
      return final(number, seed) + 0.3 + 1.5 * Math.exp(-step / slow) + 0.01 * new Rng(seed, number, 3, step).normal();
    };
    const outcomes = Array.from({ length: 20 }, (_, seed) => {
      const loss = curve(seed);
      const scheduler = asha({ grace: 3, maxSteps });
      const { steps, trials: done } = simulate({ scheduler, study, trials, maxSteps, workers: 8, loss });
      const full = Math.min(...done.map(({ number }) => loss(number, maxSteps)));
      const found = Math.min(...done.filter(({ status }) => status === "completed").map(({ result }) => result!.loss!));
      return { share: steps / (trials * maxSteps), worse: found / full - 1 };
    });
    expect(median(outcomes.map(({ worse }) => worse))).toBeLessThan(0.01);
    expect(Math.max(...outcomes.map(({ share }) => share))).toBeLessThan(0.25);
  });

  it.each<[Partial<AshaOptions>, string]>([
    [{}, "asha: missing option `maxSteps` (a finite number > 0)."],
    [{ maxSteps: 0 }, "Expected `maxSteps` to be a finite number > 0, got `0`"],
    [{ maxSteps: Infinity }, "Expected `maxSteps` to be a finite number > 0, got `Infinity`"],
    [{ maxSteps: 9, factor: 1 }, "Expected `factor` to be a finite number ≥ 2, got `1`"],
    [{ maxSteps: 9, grace: 9 }, "`grace` (9) is not below `maxSteps` (9), so no trial would ever end early."],
  ])("refuses %o", (options, message) => {
    expect(() => asha(options as AshaOptions)).toThrow(message);
  });
});
