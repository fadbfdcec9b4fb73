import { describe, expect, it } from "vitest";
import { completed, minimise } from "../../tests/support/trials.ts";
import { random } from "./samplers/random.ts";
import { choice, logUniform, uniform } from "./space/parameters.ts";
import { Space } from "./space/space.ts";
import { importance, type Importance } from "./importance.ts";
import type { Params, TrialRecord } from "./types.ts";

function judge(space: Space, loss: (params: Params) => number, trials: number): Importance {
  const sampler = random(space, { seed: 1 });
  const records = Array.from({ length: trials }, (_, number) => {
    const params = sampler.suggest(number, [], minimise(space));
    return completed(number, params, loss(params));
  });
  return importance(space, records, minimise(space).objectives)!;
}

const shareOf = ({ parameters }: Importance, path: string): number =>
  parameters.find(({ parameter }) => parameter.path === path)!.share;
const num = (params: Params, key: string): number => params[key] as number;

describe("importance", () => {
  const abc = new Space({ a: uniform(0, 1), b: uniform(-1, 1), c: logUniform(1e-3, 1) });

  it("shares the variance of a sum out as its terms have it", () => {
    // Variances 9/12, 4/12 · 1/4 and nothing: nine parts in ten are a's.
    const found = judge(abc, (p) => 3 * num(p, "a") + 0.5 * num(p, "b"), 200);
    expect(found.parameters.map(({ parameter }) => parameter.path)).toEqual(["a", "b", "c"]);
    expect(Math.abs(shareOf(found, "a") - 0.9)).toBeLessThan(0.05);
    expect(Math.abs(shareOf(found, "b") - 0.1)).toBeLessThan(0.05);
    expect(shareOf(found, "c")).toBeLessThan(0.01);
    expect(found.fit).toBeGreaterThan(0.9);
    expect(found.interactions).toBeLessThan(0.05);
  });

  it("leaves over what only two together explain", () => {
    const found = judge(abc, (p) => Math.sign(num(p, "a") - 0.5) * num(p, "b"), 300);
    expect(found.interactions).toBeGreaterThan(0.7);
    expect(shareOf(found, "c")).toBeLessThan(0.05);
  });

  it("looks at a parameter on its own scale, and not at how far a few trials went astray", () => {
    const loss = (p: Params): number => {
      const off = Math.abs(Math.log10(num(p, "c")) + 2);
      return num(p, "b") > 0.98 ? 1e12 : off;
    };
    expect(shareOf(judge(abc, loss, 200), "c")).toBeGreaterThan(0.75);
  });

  it("knows conditional parameters and choices", () => {
    const space = new Space({
      o: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]),
      x: uniform(0, 1),
    });
    const found = judge(
      space,
      ({ o }) => ("momentum" in (o as object) ? 1 + 0.3 * num(o as Params, "momentum") : 0),
      200,
    );
    expect(found.parameters[0]!.parameter.path).toBe("o");
    expect(shareOf(found, "o")).toBeGreaterThan(0.6);
    expect(shareOf(found, "o.momentum")).toBeGreaterThan(5 * shareOf(found, "x"));
  });

  it("says that it fits nothing where there is nothing to find, and nothing at all of few trials", () => {
    let turn = 0;
    const noise = judge(abc, () => (Math.sin(++turn * 12.9898) * 43758.5453) % 1, 100);
    expect(noise.fit).toBeLessThan(0.2);
    const few: TrialRecord[] = Array.from({ length: 7 }, (_, i) => completed(i, { a: 0, b: 0, c: 1 }, i));
    expect(importance(abc, few, minimise(abc).objectives)).toBeUndefined();
  });

  it("gives no share to anything when all trials had the same params", () => {
    const same = Array.from({ length: 12 }, (_, i) => completed(i, { a: 0.5, b: 0, c: 1 }, i));
    const found = importance(abc, same, minimise(abc).objectives)!;
    expect(found.parameters.map(({ share }) => share)).toEqual([0, 0, 0]);
    expect(found.fit).toBeLessThan(0.2);
  });
});
