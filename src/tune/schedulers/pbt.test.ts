import { describe, expect, it } from "vitest";
import { simulate, type Simulated } from "../../../tests/support/simulate-study.ts";
import { minimise, reported } from "../../../tests/support/trials.ts";
import { random } from "../samplers/random.ts";
import { choice, int, logUniform, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Decision, Params, TrialRecord } from "../types.ts";
import { none } from "./none.ts";
import { pbt, type PbtOptions } from "./pbt.ts";

const space = new Space({ lr: logUniform(1e-4, 1) });
const study = minimise(space);
const population = (losses: readonly (readonly number[])[], lr = 0.1): TrialRecord[] =>
  losses.map((of, number) => ({ ...reported(number, of), params: { lr } }));
const decide = (of: number, trials: readonly TrialRecord[], options: Partial<PbtOptions> = {}): Decision =>
  pbt({ every: 2, ...options }).decide(trials[of]!, trials[of]!.reports.at(-1)!, trials, study);

describe("pbt", () => {
  const eight = population([1, 2, 3, 4, 5, 6, 7, 8].map((loss) => [loss, loss]));

  it("takes the worst quarter on from the best quarter, and from nobody else", () => {
    expect([0, 1, 2, 3, 4, 5].map((of) => decide(of, eight).kind)).toEqual(Array(6).fill("continue"));
    const froms = new Set<number>();
    for (let seed = 0; seed < 50; seed++) {
      for (const of of [6, 7]) {
        const decision = decide(of, eight, { seed });
        expect(decision.kind).toBe("exploit");
        if (decision.kind === "exploit") froms.add(decision.from);
      }
    }
    expect(froms).toEqual(new Set([0, 1]));
    expect(decide(7, eight)).toMatchObject({ reason: expect.stringContaining("among the worst 2 of 8 by `loss`") });
  });

  it("looks every so many steps, and not in between", () => {
    const at = (steps: number): Decision["kind"] =>
      decide(1, population([Array(steps).fill(1), Array(steps).fill(2)])).kind;
    expect([1, 2, 3, 4, 5].map(at)).toEqual(["continue", "exploit", "continue", "exploit", "continue"]);
    const [best, worst] = population([[1, 1], []]);
    const jump = {
      ...worst!,
      reports: [
        { step: 1, values: { loss: 9 } },
        { step: 5, values: { loss: 9 } },
      ],
    };
    expect(decide(1, [best!, jump]).kind).toBe("exploit");
  });

  it("compares trials at the same step, and leaves out those that ended badly", () => {
    // The first is ahead and has by now less, but had more at step 2.
    expect(
      decide(
        1,
        population([
          [9, 9, 0, 0],
          [5, 5],
        ]),
      ).kind,
    ).toBe("continue");
    const [a, b] = population([
      [1, 1],
      [5, 5],
    ]);
    expect(decide(1, [{ ...a!, status: "failed" }, b!]).kind).toBe("continue");
    expect(decide(0, [a!]).kind).toBe("continue");
  });

  it("multiplies numbers by a factor within the range, keeps choices, and draws anew with `resample`", () => {
    const rich = new Space({
      lr: logUniform(1e-4, 1),
      layers: int(1, 8),
      o: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]),
    });
    const params: Params = { lr: 0.1, layers: 2, o: { use: "sgd", momentum: 0.9 } };
    const trials = population([
      [1, 1],
      [2, 2],
    ]).map((trial) => ({ ...trial, params }));
    const explored = (options: Partial<PbtOptions>): Params[] =>
      Array.from({ length: 60 }, (_, seed) => {
        const scheduler = pbt({ every: 2, seed, ...options });
        const decision = scheduler.decide(trials[1]!, trials[1]!.reports[1]!, trials, minimise(rich));
        if (decision.kind !== "exploit") throw new Error("expected an exploit");
        rich.check(decision.params);
        return decision.params;
      });
    const moved = explored({ resample: 0 });
    expect(new Set(moved.map(({ lr }) => (lr as number).toFixed(4)))).toEqual(new Set(["0.0800", "0.1200"]));
    expect(new Set(moved.map(({ layers }) => layers))).toEqual(new Set([1, 3]));
    expect(new Set(moved.map(({ o }) => JSON.stringify(o)))).toEqual(
      new Set(
        [
          { use: "sgd", momentum: 0.9 * 0.8 },
          { use: "sgd", momentum: 1 },
        ].map((o) => JSON.stringify(o)),
      ),
    );
    const anew = explored({ resample: 1 });
    expect(new Set(anew.map(({ lr }) => lr)).size).toBe(60);
    expect(anew.some(({ o }) => (o as { use: string }).use === "adamw")).toBe(true);
    expect(explored({ perturb: [10], resample: 0 })[0]).toMatchObject({ lr: 1, layers: 8 });
  });

  // The best rate falls as training goes on: no fixed one is good throughout.
  const run = (scheduler: ReturnType<typeof pbt>): Simulated => {
    const progress = new Map<number, number>();
    const trials = 12;
    return simulate({
      scheduler: {
        ...scheduler,
        decide(trial, report, all, of) {
          const decision = scheduler.decide(trial, report, all, of);
          if (decision.kind === "exploit") progress.set(trial.number, progress.get(decision.from)!);
          return decision;
        },
      },
      study,
      trials,
      maxSteps: 60,
      workers: trials,
      params: (number) => random(space, { seed: 5 }).suggest(number, [], study),
      loss(number, step, params) {
        const off = Math.abs(Math.log10(params.lr as number) - (-1 - step / 30));
        const left = progress.get(number) ?? 1;
        progress.set(number, left * (0.9 + 0.1 * Math.min(1, off)));
        return progress.get(number)!;
      },
    });
  };

  it("finds a schedule that no fixed value has", () => {
    const best = ({ trials }: Simulated): number => Math.min(...trials.map(({ result }) => result!.loss!));
    expect(best(run(pbt({ every: 4 })))).toBeLessThan(best(run(none())) / 2);
  });

  it("decides the same every time", () => {
    expect(run(pbt({ every: 4 }))).toEqual(run(pbt({ every: 4 })));
    expect(run(pbt({ every: 4 }))).not.toEqual(run(pbt({ every: 4, seed: 1 })));
  });

  it.each<[Partial<PbtOptions>, string]>([
    [{}, "missing option `every`"],
    [{ every: 0 }, "Expected `every` to be a finite number > 0, got `0`"],
    [{ every: 1, quantile: 0.6 }, "Expected `quantile` to be a number above 0, up to 0.5, got `0.6`"],
    [{ every: 1, perturb: [] }, "`perturb` is empty. Give at least one factor"],
    [{ every: 1, perturb: [0] }, "Expected `perturb` to be an array, each a finite number > 0"],
    [{ every: 1, resample: 2 }, "Expected `resample` to be a number from 0 to 1, got `2`"],
  ])("refuses %o", (options, message) => {
    expect(() => pbt(options as PbtOptions)).toThrow(message);
  });
});
