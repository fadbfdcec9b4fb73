import { describe, expect, it } from "vitest";
import { branin, hartmann6 } from "../../../tests/support/benchmark-functions.ts";
import { completed, median, minimise, minimiseWith } from "../../../tests/support/trials.ts";
import { choice, int, logUniform, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Params, Sampler, StudyView, TrialRecord } from "../types.ts";
import { random } from "./random.ts";
import { tpe, type TpeOptions } from "./tpe.ts";

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);
const best = (trials: readonly TrialRecord[]): number => Math.min(...trials.map(({ result }) => result!.loss!));

const mixed = new Space({
  lr: logUniform(1e-5, 1),
  layers: int(1, 8),
  optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }, { use: "lion" }]),
});
/** Least at lr 0.01, 3 layers, sgd with momentum 0.9. */
function mixedLoss({ lr, layers, optimizer }: Params): number {
  const { use, momentum } = optimizer as { use: string; momentum?: number };
  const off = use === "sgd" ? Math.abs(momentum! - 0.9) : 1;
  return Math.abs(Math.log10(lr as number) + 2) + Math.abs((layers as number) - 3) / 2 + off;
}

describe("tpe", () => {
  it.each([
    ["Branin", branin, 60, true],
    ["Branin", branin, 60, false],
    ["Hartmann-6", hartmann6, 120, true],
  ] as const)(
    "comes 3 times nearer to the least of %s than random: median of 20 seeds",
    (_, problem, trials, multivariate) => {
      const excess = (sampler: (seed: number) => Sampler): number =>
        median(SEEDS.map((seed) => best(minimiseWith(sampler(seed), problem.space, problem.at, trials)))) -
        problem.least;
      const learned = excess((seed) => tpe(problem.space, { seed, multivariate }));
      expect(learned).toBeLessThan(excess((seed) => random(problem.space, { seed })) / 3);
    },
  );

  it.each([true, false])("handles log, whole numbers, choices and conditions (multivariate: %s)", (multivariate) => {
    const reach = (make: (seed: number) => Sampler): number =>
      median(SEEDS.map((seed) => best(minimiseWith(make(seed), mixed, mixedLoss, 60))));
    const learned = reach((seed) => tpe(mixed, { seed, multivariate }));
    expect(learned).toBeLessThan(reach((seed) => random(mixed, { seed })) / 2);
    for (const { params } of minimiseWith(tpe(mixed, { multivariate }), mixed, mixedLoss, 40)) mixed.check(params);
  });

  it("is a function of seed, number and the trials so far", () => {
    const trials = minimiseWith(tpe(mixed, { seed: 3 }), mixed, mixedLoss, 30);
    expect(minimiseWith(tpe(mixed, { seed: 3 }), mixed, mixedLoss, 30)).toEqual(trials);
    const next = (seed: number, number: number, of: readonly TrialRecord[]): Params =>
      tpe(mixed, { seed }).suggest(number, of, minimise(mixed));
    // A crash after trial 20 changes nothing.
    expect(next(3, 20, trials.slice(0, 20))).toEqual(trials[20]!.params);
    expect(next(4, 20, trials.slice(0, 20))).not.toEqual(trials[20]!.params);
    expect(next(3, 21, trials.slice(0, 20))).not.toEqual(trials[20]!.params);
  });

  it("draws at random until `startup` trials can be compared", () => {
    const sampler = tpe(mixed, { seed: 1, startup: 5 });
    const failed = minimiseWith(sampler, mixed, mixedLoss, 9).map((trial): TrialRecord => ({
      ...trial,
      status: "failed",
      result: undefined,
    }));
    expect(sampler.suggest(9, failed, minimise(mixed))).toEqual(
      random(mixed, { seed: 1 }).suggest(9, [], minimise(mixed)),
    );
  });

  const line = new Space({ x: uniform(0, 1) });
  const past = Array.from({ length: 40 }, (_, i) => completed(i, { x: i / 39 }, Math.abs(i / 39 - 0.3)));
  const suggestions = (trials: readonly TrialRecord[], study: StudyView, options: TpeOptions = {}): number[] =>
    Array.from({ length: 100 }, (_, i) => tpe(study.space, options).suggest(40 + i, trials, study).x as number);

  it("goes where the good trials are, for both modes", () => {
    const near = (xs: readonly number[], x: number): number => xs.filter((at) => Math.abs(at - x) < 0.15).length;
    expect(near(suggestions(past, minimise(line)), 0.3)).toBeGreaterThan(80);
    const upside: StudyView = { space: line, objectives: [{ metric: "loss", mode: "max" }] };
    expect(near(suggestions(past, upside), 1)).toBeGreaterThan(60);
  });

  it("keeps away from where trials run already", () => {
    const running = Array.from({ length: 12 }, (_, i): TrialRecord => ({
      number: 40 + i,
      params: { x: 0.25 + i / 400 },
      status: i % 2 === 0 ? "running" : "waiting",
      reports: [],
      result: undefined,
    }));
    const there = (xs: readonly number[]): number => xs.filter((x) => x > 0.24 && x < 0.29).length;
    const alone = there(suggestions(past, minimise(line)));
    expect(there(suggestions([...past, ...running], minimise(line)))).toBeLessThan(alone / 2);
  });

  it("learns from pruned trials by their last report, and takes a loss that is no number for the worst", () => {
    const pruned = past.map(({ number, params, result }): TrialRecord => ({
      number,
      params,
      status: "pruned",
      reports: [{ step: 1, values: result! }],
      result: undefined,
    }));
    const xs = suggestions(pruned, minimise(line));
    expect(xs.filter((x) => Math.abs(x - 0.3) < 0.15).length).toBeGreaterThan(80);
    const broken = past.map((trial) => (trial.number < 20 ? { ...trial, result: { loss: NaN } } : trial));
    expect(suggestions(broken, minimise(line)).filter((x) => x > 0.5).length).toBeGreaterThan(80);
  });

  it("with several objectives, looks along the whole front", () => {
    const space = new Space({ x: uniform(0, 1), y: uniform(0, 1) });
    const study: StudyView = {
      space,
      objectives: [
        { metric: "a", mode: "min" },
        { metric: "b", mode: "max" },
      ],
    };
    const trials: TrialRecord[] = [];
    for (let number = 0; number < 120; number++) {
      const params = tpe(space, { seed: 2 }).suggest(number, trials, study);
      const [x, y] = [params.x as number, params.y as number];
      // The front is y = 0, where a = x² and b = -(x - 1)².
      const result = { a: x * x + y, b: -((x - 1) ** 2) - y };
      trials.push({ number, params, status: "completed", reports: [], result });
    }
    const late = trials.slice(60).map(({ params }) => params as { x: number; y: number });
    expect(median(late.map(({ y }) => y))).toBeLessThan(0.2);
    const spread = [0, 1, 2, 3].map((part) => late.filter(({ x }) => Math.floor(x * 4) === part).length);
    expect(Math.min(...spread)).toBeGreaterThan(5);
  });

  it("finds the best of few options", () => {
    const space = new Space({ a: choice(["x", "y", "z"]) });
    const trials = minimiseWith(tpe(space), space, ({ a }) => (a === "y" ? 0 : 1), 60);
    expect(trials.slice(20).filter(({ params }) => params.a === "y").length).toBeGreaterThan(30);
  });

  it.each<[TpeOptions, string]>([
    [{ gamma: 1 }, "Expected `gamma` to be a number from 0.001 to 0.999, got `1` (number)"],
    [{ candidates: 0 }, "Expected `candidates` to be a whole number ≥ 1, got `0`"],
    [{ startup: 0 }, "Expected `startup` to be a whole number ≥ 1, got `0`"],
    [{ nStartup: 3 } as TpeOptions, "unknown option `nStartup`"],
  ])("refuses %o", (options, message) => {
    expect(() => tpe({ x: uniform(0, 1) }, options)).toThrow(message);
  });
});
